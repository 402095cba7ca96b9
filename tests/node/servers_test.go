package node

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pires/go-proxyproto"
	"go.uber.org/goleak"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

const loopback = "127.0.0.1:0"

func at(addresses ...string) frontend {
	f := frontend{service: web, port: "http"}
	for _, a := range addresses {
		f.endpoints = append(f.endpoints, endpoint{address: a, node: "a"})
	}
	return f
}

func onNode(name string) reached { return func(net.Addr) string { return name } }

func startTCP(t *testing.T, f frontend) (*tcpServer, string) {
	t.Helper()
	return startTCPAt(t, loopback, f)
}

func startTCPAt(t *testing.T, at string, f frontend) (*tcpServer, string) {
	t.Helper()
	s, err := newTCPServer("", at, onNode("a"), f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, s.Addr().String()
}

func dial(t *testing.T, network, address string) net.Conn {
	t.Helper()
	connection, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	if err := connection.SetDeadline(time.Now().Add(await.Patience)); err != nil {
		t.Fatal(err)
	}
	return connection
}

// get asks over a connection of its own, as a load balancer's next client does.
func get(t *testing.T, url string) (*http.Response, string, error) {
	t.Helper()
	client := http.Client{Timeout: await.Patience, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body), nil
}

func TestTCPServer_AnswersHTTPWithNodeAndPod(t *testing.T) {
	t.Parallel()
	_, address := startTCP(t, at("10.244.1.5"))
	response, body, err := get(t, "http://"+address+"/some/path")
	if err != nil {
		t.Fatal(err)
	}
	if got := response.Header.Get(HeaderNode); got != "a" {
		t.Errorf("%s = %q, want a", HeaderNode, got)
	}
	for _, want := range []string{"node      a\n", "demo/web", "10.244.1.5", "GET /some/path"} {
		if !strings.Contains(body, want) {
			t.Errorf("the body has no %q:\n%s", want, body)
		}
	}
}

func TestTCPServer_ShowsForwardedHeaders(t *testing.T) {
	t.Parallel()
	_, address := startTCP(t, at("10.244.1.5"))
	connection := dial(t, "tcp", address)
	fmt.Fprint(connection, "GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.7\r\nConnection: close\r\n\r\n")
	answer, err := io.ReadAll(connection)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(answer), "X-Forwarded-For: 192.0.2.7") {
		t.Errorf("answer:\n%s", answer)
	}
}

func TestTCPServer_ShowsClientOfPROXYHeader(t *testing.T) {
	t.Parallel()
	_, address := startTCP(t, at("10.244.1.5"))
	client, server := net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 1234}, net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}
	for version := byte(1); version <= 2; version++ {
		connection := dial(t, "tcp", address)
		if _, err := proxyproto.HeaderProxyFromAddrs(version, &client, &server).WriteTo(connection); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(connection, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		answer, err := io.ReadAll(connection)
		if want := fmt.Sprintf("client    192.0.2.7:1234 by PROXY v%d\n", version); err != nil || !strings.Contains(string(answer), want) {
			t.Errorf("the answer has no %q, error %v:\n%s", want, err, answer)
		}
	}
}

func TestTCPServer_TakesTurnsBetweenPodsWithinConnection(t *testing.T) {
	t.Parallel()
	_, address := startTCP(t, at("10.244.1.5", "10.244.1.6"))
	connection := dial(t, "tcp", address)
	reader := bufio.NewReader(connection)
	seen := map[string]int{}
	for range 4 {
		fmt.Fprint(connection, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi")
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		seen[response.Header.Get(HeaderEndpoint)]++
	}
	if seen["10.244.1.5"] != 2 || seen["10.244.1.6"] != 2 {
		t.Errorf("answers by pod = %v, want two each", seen)
	}
}

func TestTCPServer_AnswersAsOtherPodAfterUpdate(t *testing.T) {
	t.Parallel()
	s, address := startTCP(t, at("10.244.1.5"))
	s.update(at("10.244.1.9"))
	response, _, err := get(t, "http://"+address)
	if err != nil {
		t.Fatal(err)
	}
	if got := response.Header.Get(HeaderEndpoint); got != "10.244.1.9" {
		t.Errorf("%s = %q, want 10.244.1.9", HeaderEndpoint, got)
	}
}

func TestTCPServer_EchoesWhatIsNotHTTP(t *testing.T) {
	t.Parallel()
	_, address := startTCP(t, at("10.244.1.5"))
	connection := dial(t, "tcp", address)
	fmt.Fprint(connection, "ping\n")
	line, err := bufio.NewReader(connection).ReadString('\n')
	if err != nil || line != "ping\n" {
		t.Errorf("echo = %q, %v", line, err)
	}
}

func TestTCPServer_EndsConnectionsAndRefusesNewOnesOnClose(t *testing.T) {
	t.Parallel()
	// No other process uses this address and could get the port when it is free.
	s, address := startTCPAt(t, "127.0.0.77:0", at("10.244.1.5"))
	open := dial(t, "tcp", address)
	fmt.Fprint(open, "x") // and the server has accepted once the echo is here
	if _, err := io.ReadFull(open, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := open.Read(make([]byte, 1)); err == nil {
		t.Error("the open connection still delivers")
	}
	if _, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("Dial = %v, want connection refused", err)
	}
}

func TestUDPServer_EchoesBehindNameOfNode(t *testing.T) {
	t.Parallel()
	s, err := newUDPServer("", loopback, onNode("a"), at("10.244.1.5"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	connection := dial(t, "udp", s.socket.LocalAddr().String())
	fmt.Fprint(connection, "ping")
	buffer := make([]byte, 1500)
	n, err := connection.Read(buffer)
	if got, want := string(buffer[:n]), "node a service demo/web\nping"; got != want {
		t.Errorf("answer = %q, %v; want %q", got, err, want)
	}
}

func TestTCPServer_FailsOnPortInUse(t *testing.T) {
	t.Parallel()
	_, taken := startTCP(t, at("10.244.1.5"))
	if _, err := newTCPServer("", taken, onNode("b"), at("10.244.1.5")); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("err = %v, want address in use", err)
	}
}
