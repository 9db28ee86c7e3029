"""What a method learned of every user, as a file."""
