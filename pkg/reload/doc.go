// Package reload applies changes of cloud.conf and of the files that it names while the process
// runs. A change is applied without a restart, or refused with an event; then the previous settings
// stay in force.
//
// It reads the files every few seconds and compares their meaning. Kernel notifications would not
// help: a mounted Secret is updated by replacing symlinks, and reading the files takes less than a
// millisecond.
//
// Two consecutive reads must agree, because files that are written one after the other may not match in
// between. transport.TLS holds the contents of the files for the comparison. A change replaces the
// connections and the token of the session (openstack.Session.Replace). Load balancers get another
// goal.Engine, which shares everything with the one before except the configuration (Engine.With); a round
// keeps its engine. Then all Services are queued: unchanged ones have the same digest and cost nothing, and
// no list of affected Services can be wrong. A configuration that would cause refusals of Services is
// itself refused.
package reload
