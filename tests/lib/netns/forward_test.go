package netns

import (
	"io"
	"net"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// echo is a server that sends back what it gets, until the test ends.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				_, _ = io.Copy(connection, connection)
			}()
		}
	}()
	return listener.Addr().String()
}

func TestForward_LeadsToServerUntilClosed(t *testing.T) {
	t.Parallel()
	forward, err := Namespace("").Forward("127.0.0.1:0", echo(t))
	if err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("tcp", forward.(*Server).Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := io.WriteString(client, "ping"); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 4)
	if _, err := io.ReadFull(client, answer); err != nil || string(answer) != "ping" {
		t.Errorf("answer = %q, %v", answer, err)
	}
	if err := forward.Close(); err != nil {
		t.Error(err)
	}
	if _, err := client.Read(answer); err == nil {
		t.Error("the connection still delivers")
	}
}

func TestForward_EndsConnectionsWhenServerIsGone(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.78:0") // no other process uses this address
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	forward, err := Namespace("").Forward("127.0.0.1:0", closed.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer forward.Close()
	client, err := net.Dial("tcp", forward.(*Server).Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if n, err := client.Read(make([]byte, 1)); err == nil {
		t.Errorf("read %d bytes", n)
	}
}
