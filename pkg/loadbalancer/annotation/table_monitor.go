package annotation

// monitorTable holds what decides on health monitors.
func monitorTable() []Annotation {
	return []Annotation{
		{
			Name: Monitor, Key: "create-monitor", Change: InPlace,
			Value: boolean(func(v *Values) **bool { return &v.Monitor }),
			Doc:   "Health monitors for the pools. With externalTrafficPolicy Local there always are some.",
		},
		{
			Name: MonitorDelay, Key: "monitor-delay", Change: InPlace,
			Value: seconds(func(v *Values) **int { return &v.MonitorDelay }),
			Doc:   "Time between two probes of a member.",
		},
		{
			Name: MonitorTimeout, Key: "monitor-timeout", Change: InPlace,
			Value: seconds(func(v *Values) **int { return &v.MonitorTimeout }),
			Doc:   "How long a probe may take.",
		},
		{
			Name: MonitorRetries, Key: "monitor-max-retries", Change: InPlace,
			Value: retries(func(v *Values) **int { return &v.MonitorMaxRetries }),
			Doc:   "Successful probes until a member is up.",
		},
		{
			Name: MonitorDown, Key: "monitor-max-retries-down", Change: InPlace,
			Value: retries(func(v *Values) **int { return &v.MonitorMaxRetriesDown }),
			Doc:   "Failed probes until a member is down.",
		},
	}
}
