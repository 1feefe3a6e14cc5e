"""Files of points of interest: CSV, GeoJSON, OpenStreetMap and Parquet become places with unique public names."""
