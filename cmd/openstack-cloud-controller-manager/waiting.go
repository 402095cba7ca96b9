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

// serveWaiting answers on the program's port until the returned function is called:
// it lives, and is not ready. Upstream serves there only once we have signed in; until
// then the kubelet would find nobody, and start the container again in the middle of an
// outage of Keystone. The port is handed over without being closed. Without a port,
// nothing is served.
func serveWaiting(serving *apiserver.SecureServingInfo) (handOver func()) {
	if serving == nil || serving.Cert == nil {
		return func() {}
	}
	own, ok := serving.Listener.(interruptible)
	if !ok {
		return func() {}
	}
	port := &lentListener{interruptible: own, returned: make(chan struct{})}
	server := &http.Server{
		Handler:           http.HandlerFunc(answerWaiting),
		TLSConfig:         &tls.Config{GetCertificate: currentCertificate(serving), MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0), // probes that give up
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.ServeTLS(port, "", "") // ends with the hand-over
	}()
	return func() {
		port.giveBack()
		<-ended
		_ = server.Close() // whoever is still connected comes again
		_ = own.SetDeadline(time.Time{})
	}
}

// answerWaiting answers as upstream's server does, as far as that can be said yet.
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

// interruptible is a listener that can be told to stop waiting, as those of TCP can.
type interruptible interface {
	net.Listener
	SetDeadline(time.Time) error
}

// lentListener is a listener that is used for a while, and stays open after it.
type lentListener struct {
	interruptible
	returned chan struct{}
}

// Accept implements net.Listener.
func (l *lentListener) Accept() (net.Conn, error) {
	conn, err := l.interruptible.Accept()
	select {
	case <-l.returned:
		if err == nil {
			_ = conn.Close() // who asks again reaches the next server
		}
		return nil, net.ErrClosed
	default:
		return conn, err
	}
}

// Close implements net.Listener: it is not ours to close.
func (l *lentListener) Close() error { return nil }

// giveBack ends Accept.
func (l *lentListener) giveBack() {
	close(l.returned)
	_ = l.SetDeadline(time.Unix(1, 0))
}
