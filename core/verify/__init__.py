"""One independent check per guarantee; nothing here shares code with an anonymizer."""
