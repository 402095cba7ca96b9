// Package netns opens sockets in network namespaces of Linux, by the names that
// `ip netns` gives them. A socket stays in the namespace it was opened in, so one
// process can use several networks at once. It needs root.
package netns

import (
	"context"
	"net"
)

// Namespace is the name of a network namespace; the zero value is the one that the
// process is in.
type Namespace string

// Command is the program and its arguments that run another program in the
// namespace, with its own sight of /proc/sys/net and of /sys.
func (n Namespace) Command(path string, args ...string) (string, []string) {
	if n == "" {
		return path, args
	}
	return "ip", append([]string{"netns", "exec", string(n), path}, args...)
}

// Listen is net.Listen in the namespace.
func (n Namespace) Listen(network, address string) (listener net.Listener, err error) {
	err = n.do(func() error {
		listener, err = net.Listen(network, address)
		return err
	})
	return listener, err
}

// ListenPacket is net.ListenPacket in the namespace.
func (n Namespace) ListenPacket(network, address string) (socket net.PacketConn, err error) {
	err = n.do(func() error {
		socket, err = net.ListenPacket(network, address)
		return err
	})
	return socket, err
}

// DialContext is that of a net.Dialer, in the namespace. The host must be an IP
// address: resolvers and parallel attempts have threads of their own.
func (n Namespace) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return n.Dial(ctx, &net.Dialer{}, network, address)
}

// Dial is DialContext by a dialer.
func (n Namespace) Dial(ctx context.Context, dialer *net.Dialer, network, address string) (connection net.Conn, err error) {
	err = n.do(func() error {
		connection, err = dialer.DialContext(ctx, network, address)
		return err
	})
	return connection, err
}
