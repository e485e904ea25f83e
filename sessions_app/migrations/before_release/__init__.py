"""The steps a database takes that is older than the first release; 0001_initial replaces them."""
