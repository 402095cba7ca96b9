package node

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/pires/go-proxyproto"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/netns"
)

// The headers of an HTTP answer that say who gave it.
const (
	// HeaderNode is the name of the node that the request reached.
	HeaderNode = "X-Node"
	// HeaderEndpoint is the address of the pod that answered, or would have.
	HeaderEndpoint = "X-Endpoint"
)

// tcpServer answers on one TCP port in place of the pods: it answers HTTP requests, and echoes all
// other bytes. A connection may begin with a header of the PROXY protocol.
type tcpServer struct {
	*netns.Server // ends the connections too: the pods behind them are gone
	reached       reached
	frontend      atomic.Pointer[frontend]
	turn          atomic.Uint64
}

func newTCPServer(namespace netns.Namespace, address string, reached reached, f frontend) (*tcpServer, error) {
	listener, err := namespace.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s := &tcpServer{reached: reached}
	s.update(f)
	s.Server = netns.Serve(listener, s.serve)
	return s, nil
}

func (s *tcpServer) update(f frontend) { s.frontend.Store(&f) }

// serve looks at the first byte: HTTP methods are upper-case letters.
func (s *tcpServer) serve(connection net.Conn) {
	reader := bufio.NewReader(connection)
	header, err := proxyproto.Read(reader)
	if err != nil && !errors.Is(err, proxyproto.ErrNoProxyProtocol) {
		return
	}
	first, err := reader.Peek(1)
	if err != nil {
		return
	}
	if first[0] < 'A' || first[0] > 'Z' {
		_, _ = io.Copy(connection, reader) // until the client has enough
		return
	}
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		if err := s.answer(connection, header, request); err != nil || request.Close {
			return
		}
	}
}

func (s *tcpServer) answer(connection net.Conn, header *proxyproto.Header, request *http.Request) error {
	if _, err := io.Copy(io.Discard, request.Body); err != nil {
		return err
	}
	f := s.frontend.Load()
	pod := f.endpoints[s.turn.Add(1)%uint64(len(f.endpoints))]
	node := s.reached(connection.RemoteAddr())
	body := describe(node, f, pod, clientOf(connection, header), request)
	response := http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1,
		Request:       request,
		Close:         request.Close,
		ContentLength: int64(len(body)),
		Body:          io.NopCloser(strings.NewReader(body)),
		Header: http.Header{
			"Content-Type": {"text/plain; charset=utf-8"},
			HeaderNode:     {node},
			HeaderEndpoint: {pod.address},
		},
	}
	return response.Write(connection)
}

// clientOf returns the address of the client, and how it is known if not from the connection itself.
// The header is nil if there was none.
func clientOf(connection net.Conn, header *proxyproto.Header) string {
	if header == nil {
		return connection.RemoteAddr().String()
	}
	return fmt.Sprintf("%s by PROXY v%d", header.SourceAddr, header.Version)
}

func describe(node string, f *frontend, pod endpoint, client string, request *http.Request) string {
	var text strings.Builder
	fmt.Fprintf(&text, "node      %s\n", node)
	fmt.Fprintf(&text, "service   %s port %s\n", f.service, strconv.Quote(f.port))
	fmt.Fprintf(&text, "endpoint  %s on %s\n", pod.address, pod.node)
	fmt.Fprintf(&text, "client    %s\n", client)
	fmt.Fprintf(&text, "request   %s %s\n", request.Method, request.URL)
	for name, values := range request.Header {
		if strings.HasPrefix(name, "X-Forwarded-") {
			fmt.Fprintf(&text, "%s: %s\n", name, strings.Join(values, ", "))
		}
	}
	return text.String()
}
