"""What people see: sentences, tables and figures."""
