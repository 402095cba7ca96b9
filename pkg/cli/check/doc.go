// Package check reports how the controller would read a cloud.conf, and whether its cloud meets the
// needs of the controller, for the verb check. It needs no Kubernetes, and changes nothing.
//
// Findings about Services come from the controller's own code: settings.Parser and lookup.Reader.Preview
// for a Service without settings, config.Inspect for every key with its source,
// cloudprovider.UnusedSettings for settings without effect. The other findings judge values: each file has
// one kind of fact, its source, and its meaning. The verb sends two writes, which OpenStack must refuse
// before any effect, because a policy cannot be read.
package check
