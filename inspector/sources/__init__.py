"""The only package that opens things: databases and files go in, bytes and named problems come out."""
