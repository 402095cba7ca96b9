package memorynet_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/memorynet"
)

// connect returns both ends of a connection, and the host of the first.
func connect(t *testing.T) (client, server net.Conn, host *memorynet.Host) {
	t.Helper()
	network := &memorynet.Network{}
	listener, err := network.Listen("cloud:80")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn)
	go func() {
		connection, _ := listener.Accept()
		accepted <- connection
	}()
	host = network.Host()
	client, err = host.Dial(t.Context(), "tcp", "cloud:80")
	if err != nil {
		t.Fatal(err)
	}
	server = <-accepted
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Close()
		_ = listener.Close()
	})
	return client, server, host
}

func TestNetwork_ServesHTTPWhileClockOfBubbleGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := &memorynet.Network{}
		listener, err := network.Listen("127.0.0.1:80")
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Hour)
			_, _ = io.Copy(w, r.Body)
		})}
		go func() { _ = server.Serve(listener) }()
		defer func() { _ = server.Close() }()
		client := &http.Client{Transport: &http.Transport{DialContext: network.Host().Dial}}
		defer client.CloseIdleConnections()
		start := time.Now()
		response, err := client.Get("http://127.0.0.1:80/")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if passed := time.Since(start); passed != time.Hour {
			t.Errorf("%s passed", passed)
		}
	})
}

func TestConnection_EndsAfterWhatWasWritten(t *testing.T) {
	t.Parallel()
	client, server, _ := connect(t)
	_, _ = server.Write([]byte("all"))
	_ = server.Close()
	if text, err := io.ReadAll(client); string(text) != "all" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
	if _, err := client.Write([]byte("more")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("written to nobody: %v", err)
	}
}

func TestConnection_ResetLosesWhatWasWritten(t *testing.T) {
	t.Parallel()
	client, server, _ := connect(t)
	_, _ = server.Write([]byte("all"))
	_ = server.(interface{ SetLinger(int) error }).SetLinger(0)
	_ = server.Close()
	if text, err := io.ReadAll(client); len(text) > 0 || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read %q, %v", text, err)
	}
}

func TestConnection_KeepsReadDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, _, _ := connect(t)
		start := time.Now()
		_ = client.SetReadDeadline(start.Add(time.Minute))
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

func TestHost_IsCutOffForGood(t *testing.T) {
	t.Parallel()
	client, server, host := connect(t)
	host.CutOff()
	if _, err := server.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the server reads: %v", err)
	}
	if _, err := client.Write([]byte("x")); err == nil {
		t.Error("written after the end")
	}
	if _, err := host.Dial(t.Context(), "tcp", "cloud:80"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("connected again: %v", err)
	}
}

func TestNetwork_RefusesWhereNobodyListens(t *testing.T) {
	t.Parallel()
	network := &memorynet.Network{}
	if _, err := network.Host().Dial(t.Context(), "tcp", "nowhere"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v", err)
	}
}
