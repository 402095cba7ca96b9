package annotation

// listenerTable holds what listeners do with traffic.
func listenerTable() []Annotation {
	return []Annotation{
		{
			Name: SourceRanges, Default: "everybody", Change: InPlace,
			Value: cidrs(func(v *Values) *[]string { return &v.SourceRanges }),
			Doc:   "The clients that may connect, where spec.loadBalancerSourceRanges is empty.",
		},
		{
			Name: Method, Key: "lb-method", Change: InPlace,
			Value: oneOf(func(v *Values) **string { return &v.Method }, "ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"),
			Doc:   "How traffic spreads over the members.",
		},
		{Name: Prefix + "default-tls-container-ref", Value: never(), Change: ReplacesChild, Doc: "Refused: the listeners would carry no TLS."},
		{Name: Prefix + "proxy-protocol", Value: onlyFalse(), Change: ReplacesChild, Doc: "Refused unless \"false\": the members would get no PROXY header."},
		{Name: Prefix + "x-forwarded-for", Value: onlyFalse(), Change: ReplacesChild, Doc: "Refused unless \"false\": the members would get no such header."},
		{Name: Prefix + "connection-limit"},
		{Name: Prefix + "timeout-client-data"},
		{Name: Prefix + "timeout-member-connect"},
		{Name: Prefix + "timeout-member-data"},
		{Name: Prefix + "timeout-tcp-inspect"},
	}
}
