// Package lookup reads the facts about the cloud that package desire needs: the subnet of the VIP,
// the origin of floating IPs, the subnets of the nodes. It also checks before the first write that
// the objects that a Service names exist. Facts that rarely change are cached and shared by all
// Services. A fact that cannot be read is an error, never a guess.
//
// Networks and the version of Octavia are cached for ten minutes. A failed read is never replaced by an old
// answer. If a fact cannot be determined (above all, the version of Octavia), the round ends rather than
// create objects that are more open than requested.
package lookup
