package annotation

// listenerTable holds the annotations of listeners.
func listenerTable() []Annotation {
	return append(append(limitTable(), protocolTable()...), []Annotation{
		{
			Name: SourceRanges, Default: "everybody", Change: InPlace,
			Value: cidrs(func(v *Values) *[]string { return &v.Listeners.SourceRanges }),
			Doc:   "The clients that may connect, if spec.loadBalancerSourceRanges is empty.",
		},
		{
			Name: Method, PerPort: true, Key: "lb-method", Change: InPlace,
			Value: cpoChoice(oneOf(func(v *Values) **string { return &v.Members.Method }, "ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT")),
			Doc:   "How traffic is distributed to the members.",
		},
		{
			Name: Persistence, PerPort: true, New: true, Default: "sessionAffinity of the spec", Change: InPlace,
			Value: oneOf(func(v *Values) **string { return &v.Members.Persistence }, "HTTP_COOKIE", "APP_COOKIE"),
			Doc: "Clients keep their member by a cookie: HTTP_COOKIE by one of the load balancer, APP_COOKIE by the application's cookie `session-cookie-name`. " +
				"For ports with HTTP or TERMINATED_HTTPS listeners; on these it takes precedence over sessionAffinity.",
		},
		{
			Name: CookieName, PerPort: true, New: true, Change: InPlace,
			Value: cookieName(func(v *Values) **string { return &v.Members.CookieName }),
			Doc:   "The name of the application's cookie, for `session-persistence: APP_COOKIE`.",
		},
	}...)
}

// limitTable holds settings with defaults of the cloud's operator: without the annotation nothing
// is sent.
func limitTable() []Annotation {
	limit := func(name, key string, value Value, doc string) Annotation {
		return Annotation{Name: name, Key: key, Default: "the default of the cloud's operator", Change: InPlace, Value: value, Doc: doc}
	}
	return []Annotation{
		limit(ConnLimit, "connection-limit", cpoNumber(from(-1, maxInt32, func(v *Values) **int { return &v.Listeners.Limits.ConnectionLimit })),
			"Maximum number of concurrent connections per port; -1 means no limit."),
		limit(ClientData, "timeout-client-data", milliseconds(func(v *Values) **int { return &v.Listeners.Limits.TimeoutClientData }),
			"Time after which an idle client is disconnected."),
		limit(MemberConnect, "timeout-member-connect", milliseconds(func(v *Values) **int { return &v.Listeners.Limits.TimeoutMemberConnect }),
			"Time to connect to a member."),
		limit(MemberData, "timeout-member-data", milliseconds(func(v *Values) **int { return &v.Listeners.Limits.TimeoutMemberData }),
			"Time after which an idle member is disconnected."),
		limit(TCPInspect, "timeout-tcp-inspect", milliseconds(func(v *Values) **int { return &v.Listeners.Limits.TimeoutTCPInspect }),
			"Time to wait for more of a connection's first bytes."),
	}
}

// protocolTable holds the annotations of the protocols of listeners and pools.
func protocolTable() []Annotation {
	header := func(name, header string, isNew bool, value Value) Annotation {
		return Annotation{
			Name: name, New: isNew, Default: "false", Change: ReplacesChild, Value: value,
			Doc: "Requests get the header `" + header + "`. TCP ports without another protocol setting become HTTP listeners.",
		}
	}
	return []Annotation{
		header(ForwardedFor, "X-Forwarded-For", false, cpo(boolean(func(v *Values) **bool { return &v.Listeners.ForwardedFor }))),
		header(ForwardedProto, "X-Forwarded-Proto", true, boolean(func(v *Values) **bool { return &v.Listeners.ForwardedProto })),
		header(ForwardedPort, "X-Forwarded-Port", true, boolean(func(v *Values) **bool { return &v.Listeners.ForwardedPort })),
		{
			Name: ProxyProtocol, PerPort: true, Default: "false", Change: InPlace,
			Value: cpoSwitch(func(v *Values) **string { return &v.Listeners.ProxyProtocol }, "true", "v1", "v2", "false"),
			Doc:   "Members of TCP ports get a PROXY header, of version 1 (`true`, `v1`) or 2, with the client's address. UDP and SCTP ports are not affected.",
		},
		{
			Name: TLSContainer, Key: "default-tls-container-ref", EmptyIsNone: true, Change: ReplacesChild,
			Value: reference(func(v *Values) **string { return &v.Listeners.TLSContainerRef }),
			Doc:   "The listeners of TCP ports terminate TLS with this certificate. A change of the certificate is applied in place.",
		},
		{
			Name: Protocols, New: true, Change: ReplacesChild,
			Value: portProtocols(func(v *Values) *[]PortProtocol { return &v.Listeners.Protocols }),
			Doc: "The protocol of the listener of a port, by the port's name or number; it takes precedence over all other settings. " +
				"HTTPS passes TLS through, TERMINATED_HTTPS terminates it.",
		},
		{
			Name: AppProtocol, New: true, Key: "app-protocol", Default: "false", Change: ReplacesChild,
			Value: boolean(func(v *Values) **bool { return &v.Listeners.AppProtocol }),
			Doc: "Ports with appProtocol http or kubernetes.io/ws get HTTP listeners, those with https or kubernetes.io/wss HTTPS ones. " +
				"An appProtocol of `loadbalancer.openstack.org/http`, `/https`, `/terminated-https` or `/tcp` always applies.",
		},
	}
}
