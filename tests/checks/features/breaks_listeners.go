package features

// listenerBreaks returns the breaks of listeners: protocols, published addresses, limits.
func listenerBreaks() []Break {
	const desire, settings, plan = "pkg/loadbalancer/spec/desire/", "pkg/loadbalancer/spec/settings/", "pkg/loadbalancer/plan/"
	return []Break{
		{
			Row: 1, What: "only the first port gets a listener",
			File:  desire + "desire.go",
			Old:   `		lb.Listeners = append(lb.Listeners, l)`,
			New:   `		lb.Listeners = append(lb.Listeners[:0], l)`,
			Tests: []string{"TestListeners_OfTCPUDPAndSCTPShareOnePort"},
		},
		{
			Row: 2, What: "UDP ports get TCP listeners",
			File: settings + "listeners.go",
			Old: `if port.Protocol != v1.ProtocolTCP {
`,
			New: `if port.Protocol == v1.ProtocolSCTP {
`,
			Tests: []string{"TestListeners_OfTCPUDPAndSCTPShareOnePort"},
		},
		{
			Row: 3, What: "SCTP ports get TCP listeners",
			File: settings + "listeners.go",
			Old: `if port.Protocol != v1.ProtocolTCP {
`,
			New: `if port.Protocol == v1.ProtocolUDP {
`,
			Tests: []string{"TestListeners_OfTCPUDPAndSCTPShareOnePort"},
		},
		{
			Row: 4, What: "a port number cannot be used for TCP and UDP at once",
			File:  settings + "validate.go",
			Old:   `key := fmt.Sprintf("%s/%d", port.Protocol, port.Port)`,
			New:   `key := fmt.Sprint(port.Port)`,
			Tests: []string{"TestListeners_OfTCPUDPAndSCTPShareOnePort"},
		},
		{
			Row: 5, What: "appProtocol http is not recognized",
			File:  settings + "listeners.go",
			Old:   `case "http", "kubernetes.io/ws":`,
			New:   `case "kubernetes.io/ws":`,
			Tests: []string{"TestListeners_HaveProtocolOfFirstSettingThatDecides"},
		},
		{
			Row: 6, What: "listeners that terminate TLS have no certificate",
			File:  desire + "desire.go",
			Old:   `l.TLSContainerRef = s.Listeners.TLSContainerRef`,
			New:   `l.TLSContainerRef = ""`,
			Tests: []string{"TestListeners_CarryTrafficAsServiceAsksFor"},
		},
		{
			Row: 7, What: "listener-protocols is ignored",
			File:  settings + "listeners.go",
			Old:   `if pair, ok := s.named(port); ok {`,
			New:   `if pair, ok := s.named(port); ok && false {`,
			Tests: []string{"TestListeners_HaveProtocolOfFirstSettingThatDecides", "TestListeners_CarryTrafficAsServiceAsksFor"},
		},
		{
			Row: 11, What: "X-Forwarded-For is not inserted",
			File:  settings + "listeners.go",
			Old:   `{headerFor, values.ForwardedFor}, `,
			New:   ``,
			Tests: []string{"TestListeners_CarryTrafficAsServiceAsksFor", "TestListeners_ChangeProtocolsWithNoMoreWritesThanNeeded"},
		},
		{
			Row: 12, What: "X-Forwarded-Port and X-Forwarded-Proto are not inserted",
			File:  settings + "listeners.go",
			Old:   `, {headerPort, values.ForwardedPort}, {headerProto, values.ForwardedProto}}`,
			New:   `}`,
			Tests: []string{"TestListeners_CarryTrafficAsServiceAsksFor"},
		},
		{
			Row: 13, What: "PROXY protocol version 2 is sent as version 1",
			File:  settings + "listeners.go",
			Old:   `return model.ProxyV2`,
			New:   `return model.Proxy`,
			Tests: []string{"TestListeners_CarryTrafficAsServiceAsksFor"},
		},
		{
			Row: 13, What: "pools do not use the PROXY protocol",
			File: settings + "listeners.go",
			Old: `case s.Proxy != "":
`,
			New: `case false:
`,
			Tests: []string{"TestListeners_CarryTrafficAsServiceAsksFor"},
		},
		{
			Row: 14, What: "ipMode is always VIP",
			File:  settings + "status.go",
			Old:   `mode = v1.LoadBalancerIPModeProxy`,
			New:   `mode = v1.LoadBalancerIPModeVIP`,
			Tests: []string{"TestEnsure_PublishesAddressOrHostname"},
		},
		{
			Row: 15, What: "the hostname that the Service requests is not published",
			File:  settings + "status.go",
			Old:   `case s.Status.Hostname != "":`,
			New:   `case false:`,
			Tests: []string{"TestEnsure_PublishesAddressOrHostname"},
		},
		{
			Row: 15, What: "no hostname is derived from the address",
			File:  settings + "status.go",
			Old:   `case s.Status.HostnameSuffix != "" && (s.Status.AlwaysNamed || s.Proxied()):`,
			New:   `case false:`,
			Tests: []string{"TestEnsure_PublishesAddressOrHostname"},
		},
		{
			Row: 37, What: "the annotation for the algorithm is ignored",
			File:  settings + "parse.go",
			Old:   `cmp.Or(ptr.Deref(method, ""), r.conf.LBMethod)`,
			New:   `r.conf.LBMethod`,
			Tests: []string{"TestEnsure_AppliesChangesOfServiceUntilNothingDiffers"},
		},
		{
			Row: 42, What: "the annotation for a timeout is ignored",
			File:  settings + "listeners.go",
			Old:   `limit(values.TimeoutClientData, conf.TimeoutClientData)`,
			New:   `limit(nil, nil)`,
			Tests: []string{"TestCloudConf_YieldsToClassWhichYieldsToAnnotation", "TestListeners_ChangeLimitsInPlace"},
		},
		{
			Row: 42, What: "the connection limit is ignored",
			File:  settings + "listeners.go",
			Old:   `limit(values.ConnectionLimit, conf.ConnectionLimit)`,
			New:   `limit(nil, nil)`,
			Tests: []string{"TestListeners_ChangeLimitsInPlace"},
		},
		{
			Row: 43, What: "source ranges are ignored",
			File:  desire + "desire.go",
			Old:   `return slices.Clone(s.Access.SourceRanges)`,
			New:   `return slices.Clone([]string{})`,
			Tests: []string{"TestEnsure_AppliesChangesOfServiceUntilNothingDiffers", "TestEnsure_CreatesNothingForSourceRangesWhileVersionIsUnknown"},
		},
		{
			Row: 50, What: "session affinity is ignored",
			File:  desire + "desire.go",
			Old:   `by := model.Persistence{Type: model.SourceIP}`,
			New:   `by := model.Persistence{}`,
			Tests: []string{"TestEnsure_ChangesSessionAffinityInPlace"},
		},
		{
			Row: 129, What: "the PROXY protocol of a port is ignored",
			File:  settings + "perport.go",
			Old:   `func(value string) { s.Listeners.Proxy = proxyProtocol(value) }`,
			New:   `func(string) {}`,
			Tests: []string{"TestPerPort_SettingsChangeOnlyTheirPort", "TestPerPort_ExceptsPortFromSettingOfService"},
		},
		{
			Row: 129, What: "the PROXY protocol of a missing port is accepted",
			File:  settings + "perport.go",
			Old:   `!exists[port]`,
			New:   `false`,
			Tests: []string{"TestPerPort_RefusesWrongPortsAndValues"},
		},
		{
			Row: 130, What: "the algorithm of a port is ignored",
			File:  settings + "perport.go",
			Old:   `func(value string) { s.Pools.Algorithm, s.Pools.AlgorithmAsked = value, true }`,
			New:   `func(string) {}`,
			Tests: []string{"TestPerPort_SettingsChangeOnlyTheirPort"},
		},
		{
			Row: 130, What: "the path of the monitor of a port is ignored",
			File:  settings + "perport.go",
			Old:   `into(&probe.Path)`,
			New:   `func(string) {}`,
			Tests: []string{"TestPerPort_SettingsChangeOnlyTheirPort"},
		},
		{
			Row: 131, What: "clients are not kept by cookies",
			File:  desire + "desire.go",
			Old:   `return s.Pools.Cookie()`,
			New:   `return model.Persistence{}`,
			Tests: []string{"TestPersistence_IsByCookieOnPortsOfHTTP"},
		},
		{
			Row: 141, What: "a load balancer has no listener with its metrics",
			File:  desire + "desire.go",
			Old:   `if s.Metrics.Port != 0 {`,
			New:   `if s.Metrics.Port < 0 {`,
			Tests: []string{"TestMetricsListener_IsCreatedChangedAndRemoved"},
		},
		{
			Row: 141, What: "the listener with the metrics admits all clients",
			File:  settings + "metrics.go",
			Old:   `case covers(ranges, all):`,
			New:   `case len(ranges) == 1 && ranges[0] == all:`,
			Tests: []string{"TestMetricsListener_IsRefusedBeforeFirstWrite"},
		},
		{
			Row: 141, What: "a Service serves the metrics of another one's load balancer",
			File:  settings + "metrics.go",
			Old:   `if s.guest {`,
			New:   `if false {`,
			Tests: []string{"TestMetricsListener_IsOnlyOnLoadBalancerOfItsService"},
		},
		{
			Row: 131, What: "a cookie without a name is accepted",
			File:  settings + "persistence.go",
			Old:   `kind == model.AppCookie && slices.ContainsFunc(s.Traffic.Ports, unnamed)`,
			New:   `kind == "" && slices.ContainsFunc(s.Traffic.Ports, unnamed)`,
			Tests: []string{"TestPersistence_RefusesWrongCookies"},
		},
		{
			Row: 51, What: "a change of the session affinity is not detected",
			File:  plan + "listeners.go",
			Old:   `from.Persistence != to.Persistence`,
			New:   `false`,
			Tests: []string{"TestEnsure_AppliesChangesOfServiceUntilNothingDiffers", "TestEnsure_ChangesSessionAffinityInPlace"},
		},
		{
			Row: 51, What: "the timeout of the session affinity is ignored",
			File:  desire + "desire.go",
			Old:   `by.Timeout = t.AffinityTimeout`,
			New:   `by.Timeout = 0`,
			Tests: []string{"TestEnsure_ChangesSessionAffinityInPlace"},
		},
	}
}
