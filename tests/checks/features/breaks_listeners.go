package features

// listenerBreaks are those of what clients see: listeners, protocols, limits.
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
			Row: 2, What: "ports of UDP get listeners of TCP",
			File: settings + "listeners.go",
			Old: `if port.Protocol != v1.ProtocolTCP {
`,
			New: `if port.Protocol == v1.ProtocolSCTP {
`,
			Tests: []string{"TestListeners_OfTCPUDPAndSCTPShareOnePort"},
		},
		{
			Row: 3, What: "ports of SCTP get listeners of TCP",
			File: settings + "listeners.go",
			Old: `if port.Protocol != v1.ProtocolTCP {
`,
			New: `if port.Protocol == v1.ProtocolUDP {
`,
			Tests: []string{"TestListeners_OfTCPUDPAndSCTPShareOnePort"},
		},
		{
			Row: 4, What: "a port can be of one protocol only",
			File:  settings + "validate.go",
			Old:   `key := fmt.Sprintf("%s/%d", port.Protocol, port.Port)`,
			New:   `key := fmt.Sprint(port.Port)`,
			Tests: []string{"TestListeners_OfTCPUDPAndSCTPShareOnePort"},
		},
		{
			Row: 5, What: "appProtocol http is not known",
			File:  settings + "listeners.go",
			Old:   `case "http", "kubernetes.io/ws":`,
			New:   `case "kubernetes.io/ws":`,
			Tests: []string{"TestListeners_HaveProtocolOfFirstSettingThatDecides"},
		},
		{
			Row: 6, What: "listeners that end TLS have no certificate",
			File:  desire + "desire.go",
			Old:   `l.TLSContainerRef = s.Listeners.TLSContainerRef`,
			New:   `l.TLSContainerRef = ""`,
			Tests: []string{"TestListeners_CarryTrafficAsServiceAsksFor"},
		},
		{
			Row: 7, What: "what is said of single ports is not heard",
			File:  settings + "listeners.go",
			Old:   `if pair, ok := s.named(port); ok {`,
			New:   `if pair, ok := s.named(port); ok && false {`,
			Tests: []string{"TestListeners_HaveProtocolOfFirstSettingThatDecides", "TestListeners_CarryTrafficAsServiceAsksFor"},
		},
		{
			Row: 11, What: "X-Forwarded-For is not asked for",
			File:  settings + "listeners.go",
			Old:   `{headerFor, values.ForwardedFor}, `,
			New:   ``,
			Tests: []string{"TestListeners_CarryTrafficAsServiceAsksFor", "TestListeners_ChangeProtocolsWithNoMoreWritesThanNeeded"},
		},
		{
			Row: 12, What: "the port and the protocol are not asked for",
			File:  settings + "listeners.go",
			Old:   `, {headerPort, values.ForwardedPort}, {headerProto, values.ForwardedProto}}`,
			New:   `}`,
			Tests: []string{"TestListeners_CarryTrafficAsServiceAsksFor"},
		},
		{
			Row: 13, What: "version 2 is version 1",
			File:  settings + "listeners.go",
			Old:   `s.Proxy = model.ProxyV2`,
			New:   `s.Proxy = model.Proxy`,
			Tests: []string{"TestListeners_CarryTrafficAsServiceAsksFor"},
		},
		{
			Row: 13, What: "no PROXY headers at all",
			File: settings + "listeners.go",
			Old: `case s.Proxy != "":
`,
			New: `case false:
`,
			Tests: []string{"TestListeners_CarryTrafficAsServiceAsksFor"},
		},
		{
			Row: 14, What: "the mode is always VIP",
			File:  settings + "status.go",
			Old:   `mode = v1.LoadBalancerIPModeProxy`,
			New:   `mode = v1.LoadBalancerIPModeVIP`,
			Tests: []string{"TestEnsure_PublishesAddressOrHostname"},
		},
		{
			Row: 15, What: "the name that the Service gives is not published",
			File:  settings + "status.go",
			Old:   `case s.Status.Hostname != "":`,
			New:   `case false:`,
			Tests: []string{"TestEnsure_PublishesAddressOrHostname"},
		},
		{
			Row: 15, What: "no name is made of the address",
			File:  settings + "status.go",
			Old:   `case s.Proxied() && s.Status.HostnameSuffix != "":`,
			New:   `case false:`,
			Tests: []string{"TestEnsure_PublishesAddressOrHostname"},
		},
		{
			Row: 37, What: "the annotation is not heard",
			File:  settings + "parse.go",
			Old:   `cmp.Or(ptr.Deref(method, ""), r.conf.LBMethod)`,
			New:   `r.conf.LBMethod`,
			Tests: []string{"TestEnsure_AppliesChangesOfServiceUntilNothingDiffers"},
		},
		{
			Row: 42, What: "a timeout is not asked for",
			File:  settings + "listeners.go",
			Old:   `limit(values.TimeoutClientData, conf.TimeoutClientData)`,
			New:   `limit(nil, nil)`,
			Tests: []string{"TestCloudConf_YieldsToClassWhichYieldsToAnnotation", "TestListeners_ChangeLimitsInPlace"},
		},
		{
			Row: 42, What: "the connection limit is not asked for",
			File:  settings + "listeners.go",
			Old:   `limit(values.ConnectionLimit, conf.ConnectionLimit)`,
			New:   `limit(nil, nil)`,
			Tests: []string{"TestListeners_ChangeLimitsInPlace"},
		},
		{
			Row: 43, What: "everybody may connect",
			File:  desire + "desire.go",
			Old:   `return slices.Clone(s.Access.SourceRanges)`,
			New:   `return slices.Clone([]string{})`,
			Tests: []string{"TestEnsure_AppliesChangesOfServiceUntilNothingDiffers", "TestEnsure_CreatesNothingForSourceRangesWhileVersionIsUnknown"},
		},
		{
			Row: 50, What: "clients are sent anywhere",
			File:  desire + "desire.go",
			Old:   `return model.SourceIP, timeout`,
			New:   `return "", 0`,
			Tests: []string{"TestEnsure_ChangesSessionAffinityInPlace"},
		},
		{
			Row: 51, What: "a change is not seen",
			File:  plan + "listeners.go",
			Old:   `from.Persistence != to.Persistence || from.PersistenceTimeout != to.PersistenceTimeout`,
			New:   `false`,
			Tests: []string{"TestEnsure_AppliesChangesOfServiceUntilNothingDiffers", "TestEnsure_ChangesSessionAffinityInPlace"},
		},
		{
			Row: 51, What: "its timeout is not asked for",
			File:  desire + "desire.go",
			Old:   `timeout = t.AffinityTimeout`,
			New:   `timeout = 0`,
			Tests: []string{"TestEnsure_ChangesSessionAffinityInPlace"},
		},
	}
}
