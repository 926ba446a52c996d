"""Write journals record by record, and files of many lifetimes."""
