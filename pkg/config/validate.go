package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkGlobal validates the settings of [Global] against each other.
func (l *loader) checkGlobal() {
	global := &l.config.Global
	global.EndpointType = strings.TrimSuffix(global.EndpointType, "URL")
	if missing := missingCertificate(global.CertFile, global.KeyFile); missing != nil {
		l.missing("the client certificate is", missing)
	}
	if l.noClouds {
		return // the missing settings may be in the file that could not be read
	}
	if global.AuthURL == "" {
		l.missing("sign-in is", setting{"auth-url"})
	}
	l.checkCredentials()
}

func (l *loader) checkCredentials() {
	global := l.config.Global
	method := global.AuthMethod()
	if method == AuthNone {
		l.missing("sign-in is",
			setting{"password", "application-credential-secret", "token", "trust-id"})
		return
	}
	if missing := global.missing(); len(missing) > 0 {
		l.missing(fmt.Sprintf("sign-in by %s is", method), missing...)
		return
	}
	if idle := global.idleSecrets(method); len(idle) > 0 {
		l.warn(warning("%s: signing in by %s, so %s is not used", l.source, method, strings.Join(idle, ", ")))
	}
	if method == AuthToken {
		l.warn(warningAt(l.places["token"], "cannot be renewed: every call fails once it has expired"))
	}
}

// idleSecrets returns the keys of secrets that the method does not use.
func (g Global) idleSecrets(method AuthMethod) []string {
	kept := g.only(method)
	var idle []string
	for key, lost := range map[string]bool{
		"token":                         g.Token != kept.Token,
		"application-credential-secret": g.ApplicationCredentialSecret != kept.ApplicationCredentialSecret,
		"password":                      g.Password != kept.Password,
	} {
		if lost {
			idle = append(idle, key)
		}
	}
	slices.Sort(idle)
	return idle
}

// missing adds a problem that names each setting as in its source. A setting with a bad value is
// not missing.
func (l *loader) missing(what string, settings ...setting) {
	var names []string
	for _, keys := range settings {
		if !slices.ContainsFunc(keys, func(key string) bool { return l.refused[key] }) {
			if l.fromEnv {
				keys = variablesOf(keys)
			}
			names = append(names, strings.Join(keys, " or "))
		}
	}
	if len(names) > 0 {
		l.problem(&MissingError{What: what, Settings: names, Source: l.source})
	}
}

// variablesOf returns the environment variables of keys of [Global].
func variablesOf(keys setting) []string {
	var names []string
	for _, o := range globalSection().options {
		if slices.Contains(keys, o.key) && len(o.env) > 0 {
			names = append(names, o.env[0])
		}
	}
	return names
}

// checkLoadBalancer validates the settings of [LoadBalancer] against each other. The default of
// lb-method at ovn is the only one that it supports.
func (l *loader) checkLoadBalancer() {
	lb := &l.config.LoadBalancer
	if lb.LBProvider == "ovn" && !l.written[confPlace("LoadBalancer", "", "lb-method")] {
		lb.LBMethod = ovnMethod
	}
	l.warn(lb.warnings()...)
}

// ovnMethod is the only algorithm of ovn.
const ovnMethod = "SOURCE_IP_PORT"

// warnings returns warnings about probes that overlap, unknown providers, and algorithms other than the
// only one of ovn.
func (lb LoadBalancer) warnings() []Warning {
	var all []Warning
	warn := func(key, format string, args ...any) {
		all = append(all, warningAt(confPlace("LoadBalancer", "", key), format, args...))
	}
	if lb.MonitorTimeout.Duration > lb.MonitorDelay.Duration {
		warn("monitor-timeout", "%s is longer than monitor-delay, %s: probes of a member overlap", lb.MonitorTimeout, lb.MonitorDelay)
	}
	known := []string{"amphora", "amphorav2", "octavia", "ovn", "f5", "router", "port-forwarding"}
	if lb.LBProvider != "" && !slices.Contains(known, lb.LBProvider) {
		warn("lb-provider", "%q is used as it is: known are %s", lb.LBProvider, strings.Join(known, ", "))
	}
	if lb.LBProvider == "ovn" && lb.LBMethod != ovnMethod {
		warn("lb-method", "%q: provider ovn supports only "+ovnMethod, lb.LBMethod)
	}
	return all
}

// checkNode requires [Global] region beside other regions: without it, a Node could be in any of
// them.
func (l *loader) checkNode() {
	if len(l.config.Node.Region) > 0 && l.config.Global.Region == "" && !l.noClouds {
		l.missing("[Node] region is", setting{"region"})
	}
}

// warnings returns a warning about calls without a time limit.
func (m Metadata) warnings() []Warning {
	if m.RequestTimeout.Duration != 0 {
		return nil
	}
	return []Warning{warningAt(confPlace("Metadata", "", "request-timeout"), "is 0: a call that gets no answer waits for ten minutes")}
}

// Class returns a class by its name. The error lists the existing names, or the errors of the
// class.
func (c *Config) Class(name string) (*LoadBalancerClass, error) {
	if wrong := c.Refused.Classes[name]; len(wrong) > 0 {
		return nil, fmt.Errorf("load balancer class %q cannot be used until the cluster's operator has corrected it: %w", name, errors.Join(wrong...))
	}
	if class, found := c.LoadBalancerClass[name]; found {
		return class, nil
	}
	if len(c.LoadBalancerClass) == 0 {
		return nil, fmt.Errorf("there is no load balancer class %q: cloud.conf has none", name)
	}
	names := make([]string, 0, len(c.LoadBalancerClass))
	for _, known := range slices.Sorted(maps.Keys(c.LoadBalancerClass)) {
		names = append(names, fmt.Sprintf("%q", known))
	}
	return nil, fmt.Errorf("cloud.conf has no load balancer class %q: known are %s", name, strings.Join(names, ", "))
}
