"""What a log says: influence weights, leaders, followers, and the report."""
