package annotation

// The annotations of the listener with the metrics of the load balancer.
const (
	MetricsPort  = Prefix + "metrics-port"
	MetricsCIDRs = Prefix + "metrics-allowed-cidrs"
)

// metricsTable holds the annotations of the listener with the metrics of the load balancer.
func metricsTable() []Annotation {
	return []Annotation{
		{
			Name: MetricsPort, New: true, Change: ReplacesChild,
			Value: from(1, 65535, func(v *Values) **int { return &v.Metrics.Port }),
			Doc: "The load balancer serves its metrics for Prometheus at `/metrics` on this TCP port, which no port of the Service may have, to the clients in `metrics-allowed-cidrs`. " +
				"For the Service's own load balancer of provider amphora: see [services.md](services.md#metrics-of-the-load-balancer).",
		},
		{
			Name: MetricsCIDRs, New: true, Change: InPlace,
			Value: cidrs(func(v *Values) *[]string { return &v.Metrics.AllowedCIDRs }),
			Doc:   "The clients that may read the metrics. Required with `metrics-port`; ranges that admit all clients, alone or together, are rejected.",
		},
	}
}
