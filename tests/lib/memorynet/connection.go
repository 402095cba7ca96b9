package memorynet

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// connection is one end of two streams.
type connection struct {
	in, out *stream
	local   Address
	remote  Address

	mu     sync.Mutex
	resets bool
	closed bool
	ended  func()
}

var _ net.Conn = (*connection)(nil)

// pipe returns the client's end and the server's.
func pipe(address Address) (client, server *connection) {
	up, down := newStream(), newStream()
	client = &connection{in: down, out: up, local: "client", remote: address}
	server = &connection{in: up, out: down, local: address, remote: "client"}
	return client, server
}

// Read implements net.Conn.
func (c *connection) Read(into []byte) (int, error) { return c.in.read(into) }

// Write implements net.Conn. It never waits.
func (c *connection) Write(text []byte) (int, error) { return c.out.write(text) }

// Close implements net.Conn.
func (c *connection) Close() error {
	c.mu.Lock()
	again, resets, ended := c.closed, c.resets, c.ended
	c.closed = true
	c.mu.Unlock()
	if again {
		return nil
	}
	end := io.EOF
	if resets {
		end = syscall.ECONNRESET
	}
	c.out.end(end)
	c.in.end(net.ErrClosed)
	c.in.discard()
	if ended != nil {
		ended()
	}
	return nil
}

// SetLinger has Close reset the connection, where it is 0, as that of a net.TCPConn does.
func (c *connection) SetLinger(seconds int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resets = seconds == 0
	return nil
}

// LocalAddr implements net.Conn.
func (c *connection) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *connection) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *connection) SetDeadline(at time.Time) error { return c.SetReadDeadline(at) }

// SetReadDeadline implements net.Conn.
func (c *connection) SetReadDeadline(at time.Time) error {
	c.in.expire(at)
	return nil
}

// SetWriteDeadline implements net.Conn. No write waits.
func (c *connection) SetWriteDeadline(time.Time) error { return nil }

// stream is what one end writes and the other reads.
type stream struct {
	mu       sync.Mutex
	changed  *sync.Cond
	text     []byte
	over     error // what a reader gets after the text
	deadline time.Time
	alarm    *time.Timer
}

func newStream() *stream {
	s := &stream{}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *stream) read(into []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.over != nil && (len(s.text) == 0 || s.over != io.EOF):
			return 0, s.over
		case s.expired():
			return 0, os.ErrDeadlineExceeded
		case len(s.text) > 0:
			n := copy(into, s.text)
			s.text = s.text[n:]
			return n, nil
		case len(into) == 0:
			return 0, nil
		}
		s.changed.Wait()
	}
}

func (s *stream) expired() bool { return !s.deadline.IsZero() && !time.Now().Before(s.deadline) }

func (s *stream) write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		return 0, syscall.EPIPE
	}
	s.text = append(s.text, text...)
	s.changed.Broadcast()
	return len(text), nil
}

// end has the reader get an error when it has read the text; one that is no io.EOF, at once.
func (s *stream) end(with error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over == nil || s.over == io.EOF {
		s.over = with
	}
	if s.alarm != nil {
		s.alarm.Stop()
	}
	s.changed.Broadcast()
}

func (s *stream) discard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = nil
}

// expire sets the deadline of readers; the zero time means none.
func (s *stream) expire(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = at
	if s.alarm != nil {
		s.alarm.Stop()
		s.alarm = nil
	}
	if wait := time.Until(at); !at.IsZero() && wait > 0 {
		s.alarm = time.AfterFunc(wait, s.wake)
	}
	s.changed.Broadcast()
}

func (s *stream) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed.Broadcast()
}
