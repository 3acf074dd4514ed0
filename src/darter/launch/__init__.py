"""From a bound call to a call state and back: variants, drift, explain, statistics, error sites."""
