package main

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	apiserver "k8s.io/apiserver/pkg/server"
)

// serveWaiting answers probes on the port of the controller manager until the returned function is
// called: the process is alive and not ready. The controller manager serves there only after the
// sign-in; without an answer the kubelet would restart the container during an outage of Keystone.
// The port stays open for the controller manager. Without a port, nothing is served.
func serveWaiting(serving *apiserver.SecureServingInfo) (stop func()) {
	if serving == nil || serving.Cert == nil {
		return func() {}
	}
	own, ok := serving.Listener.(deadlineListener)
	if !ok {
		return func() {}
	}
	port := &borrowedListener{deadlineListener: own, returned: make(chan struct{})}
	server := &http.Server{
		Handler:           http.HandlerFunc(answerWaiting),
		TLSConfig:         &tls.Config{GetCertificate: currentCertificate(serving), MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0), // probes that time out
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.ServeTLS(port, "", "") // ends when the port is returned
	}()
	return func() {
		port.giveBack()
		<-ended
		_ = server.Close() // connected clients retry
		_ = own.SetDeadline(time.Time{})
	}
}

// answerWaiting answers like the controller manager, as far as possible.
func answerWaiting(w http.ResponseWriter, request *http.Request) {
	if request.URL.Path != healthPath {
		http.Error(w, "waiting for Keystone, see the log", http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ok")
}

func currentCertificate(serving *apiserver.SecureServingInfo) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := tls.X509KeyPair(serving.Cert.CurrentCertKeyContent())
		return &pair, err
	}
}

// deadlineListener is a listener with an interruptible Accept, like that of TCP.
type deadlineListener interface {
	net.Listener
	SetDeadline(time.Time) error
}

// borrowedListener is a listener that is used temporarily, and stays open.
type borrowedListener struct {
	deadlineListener
	returned chan struct{}
}

// Accept implements net.Listener.
func (l *borrowedListener) Accept() (net.Conn, error) {
	conn, err := l.deadlineListener.Accept()
	select {
	case <-l.returned:
		if err == nil {
			_ = conn.Close() // the client retries, and reaches the next server
		}
		return nil, net.ErrClosed
	default:
		return conn, err
	}
}

// Close implements net.Listener: the owner closes it.
func (l *borrowedListener) Close() error { return nil }

func (l *borrowedListener) giveBack() {
	close(l.returned)
	_ = l.SetDeadline(time.Unix(1, 0))
}
