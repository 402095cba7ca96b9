package annotation

import "slices"

// monitorTable holds the annotations of health monitors.
func monitorTable() []Annotation { return slices.Concat(timingTable(), probeTable()) }

// timingTable holds whether members are probed, how often, and how many answers count.
func timingTable() []Annotation {
	return []Annotation{
		{
			Name: Monitor, Key: "create-monitor", Change: InPlace,
			Value: cpo(boolean(func(v *Values) **bool { return &v.Monitor.Enabled })),
			Doc:   "Health monitors for the pools. With externalTrafficPolicy Local they are always created, unless this is \"false\" or another controller created the load balancer without them.",
		},
		{
			Name: MonitorDelay, Key: "monitor-delay", Change: InPlace,
			Value: seconds(func(v *Values) **int { return &v.Monitor.Delay }),
			Doc:   "Time between two probes of a member.",
		},
		{
			Name: MonitorTimeout, Key: "monitor-timeout", Change: InPlace,
			Value: seconds(func(v *Values) **int { return &v.Monitor.Timeout }),
			Doc:   "Timeout of a probe.",
		},
		{
			Name: MonitorRetries, Key: "monitor-max-retries", Change: InPlace,
			Value: retries(func(v *Values) **int { return &v.Monitor.MaxRetries }),
			Doc:   "Successful probes until a member is up.",
		},
		{
			Name: MonitorDown, Key: "monitor-max-retries-down", Change: InPlace,
			Value: retries(func(v *Values) **int { return &v.Monitor.MaxRetriesDown }),
			Doc:   "Failed probes until a member is down.",
		},
	}
}

// probeTable holds the description of a probe that differs from the default.
func probeTable() []Annotation {
	return []Annotation{
		{
			Name: MonitorType, New: true, PerPort: true, Default: "TCP, UDP-CONNECT or SCTP, like the port; with externalTrafficPolicy Local HTTP", Change: ReplacesMonitor,
			Value: oneOf(func(v *Values) **string { return &v.Monitor.Type }, "TCP", "HTTP", "HTTPS", "TLS-HELLO", "PING", "UDP-CONNECT", "SCTP"),
			Doc:   "How members are probed, on their NodePort or on `health-monitor-port`. Ports that do not support the type keep their default one.",
		},
		{
			Name: MonitorPath, New: true, PerPort: true, Default: "/", Change: InPlace,
			Value: path(func(v *Values) **string { return &v.Monitor.Path }),
			Doc:   "The path that monitors of type HTTP (the default type if this is set) and HTTPS request.",
		},
		{
			Name: MonitorMethod, New: true, PerPort: true, Default: "GET", Change: InPlace,
			Value: oneOf(func(v *Values) **string { return &v.Monitor.HTTPMethod }, "GET", "HEAD", "OPTIONS"),
			Doc:   "The HTTP method of probes; only safe methods are allowed.",
		},
		{
			Name: MonitorCodes, New: true, PerPort: true, Default: "200", Change: InPlace,
			Value: codes(func(v *Values) **string { return &v.Monitor.Codes }),
			Doc:   "The status codes that are considered healthy.",
		},
		{
			Name: MonitorVersion, New: true, PerPort: true, Default: "Octavia's, which is 1.0", Change: InPlace,
			Value: oneOf(func(v *Values) **string { return &v.Monitor.HTTPVersion }, "1.0", "1.1"),
			Doc:   "The HTTP version of probes. Some servers do not accept 1.0.",
		},
		{
			Name: MonitorDomain, New: true, PerPort: true, Change: InPlace,
			Value: domain(func(v *Values) **string { return &v.Monitor.DomainName }),
			Doc:   "The host name in probes, with HTTP 1.1.",
		},
		{
			Name: MonitorPort, New: true, PerPort: true, Default: "the NodePort", Change: InPlace,
			Value: from(1, 65535, func(v *Values) **int { return &v.Monitor.Port }),
			Doc:   "The port of the nodes that is probed: one of the Service's own NodePorts, its healthCheckNodePort, 10256 (kube-proxy's healthz), or one that `monitor-ports` in cloud.conf lists. With `health-monitor-kube-proxy` it is kube-proxy's port.",
		},
		{
			Name: MonitorKubeProxy, New: true, Key: "monitor-kube-proxy", Change: ReplacesMonitor,
			Value: boolean(func(v *Values) **bool { return &v.Monitor.KubeProxy }),
			Doc:   "With externalTrafficPolicy Cluster, monitors probe kube-proxy's /healthz on port 10256: nodes that are about to be removed get no new connections while existing ones continue (KEP-3836).",
		},
	}
}
