"""What operators load into other programs: alert rules and the dashboard."""
