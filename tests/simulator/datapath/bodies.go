package datapath

import "io"

// heardBody is the body of an answer: reading it is the member's turn.
type heardBody struct {
	io.ReadCloser
	idle   *idle
	closed func()
}

func (b *heardBody) Read(p []byte) (int, error) {
	b.idle.expect()
	defer b.idle.relax()
	return b.ReadCloser.Read(p)
}

// Close ends the exchange.
func (b *heardBody) Close() error {
	defer b.closed()
	return b.ReadCloser.Close()
}

// tunnelBody is the connection of an upgraded protocol, such as WebSocket.
type tunnelBody struct {
	*heardBody
	to io.Writer
}

func (b *tunnelBody) Write(p []byte) (int, error) {
	b.idle.touch()
	return b.to.Write(p)
}

// upload is the body of a request: reading it is the client's turn, and not the member's.
type upload struct {
	io.ReadCloser
	client, member *idle
}

func (u *upload) Read(p []byte) (int, error) {
	u.client.expect()
	u.member.relax()
	defer u.client.relax()
	defer u.member.expect()
	return u.ReadCloser.Read(p)
}

// Close leaves the body open: another member may be tried, and the server closes it.
func (u *upload) Close() error { return nil }
