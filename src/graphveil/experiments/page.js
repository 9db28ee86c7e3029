// Lets tables be sorted by their columns. Without it they stay as they are: the buttons are made here.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  if (body.rows.length < 2) continue;
  const number = text => {
    const found = text.replace(/,/g, "").match(/^[^\d+\-]*([+\-]?\d+(\.\d+)?(e[+\-]?\d+)?)/);
    return found ? Number(found[1]) : NaN;
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending", numeric = head.classList.contains("number");
      const text = row => row.cells[column].textContent.trim();
      const missing = row => text(row) === "-" || (numeric && Number.isNaN(number(text(row))));
      const order = (a, b) => numeric ? number(text(a)) - number(text(b)) : text(a).localeCompare(text(b), "en", {numeric: true});
      const rows = [...body.rows].sort((a, b) => missing(a) - missing(b) || (up ? order(a, b) : order(b, a)));
      body.append(...rows);
      for (const each of heads) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
    });
  });
}
