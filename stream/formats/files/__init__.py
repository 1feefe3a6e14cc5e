"""Files of records: their forms, and the lines and elements that they hold."""
