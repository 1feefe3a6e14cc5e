"""Times become moments: texts, texts of a stated format, and days of the calendar."""
