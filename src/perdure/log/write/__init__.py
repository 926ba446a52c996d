"""What is written: journals as they are lived, and files of many lifetimes."""
