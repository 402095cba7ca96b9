// Package wire has the HTTP functions of all simulated services: JSON answers, request IDs, and
// links with the prefix under which a service is mounted.
package wire

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// Origin is the scheme and host that the request came to.
func Origin(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// Base is the URL that the service is mounted at, without a trailing slash. It
// is what the request's URL had in front of r.URL.Path before http.StripPrefix.
func Base(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	return Origin(r) + strings.TrimSuffix(strings.TrimSuffix(path, r.URL.EscapedPath()), "/")
}

// Self is the URL of the request without its query.
func Self(r *http.Request) string { return Base(r) + r.URL.EscapedPath() }

// SetRequestID gives the answer an x-openstack-request-id unless it has one.
func SetRequestID(w http.ResponseWriter) {
	const header = "X-Openstack-Request-Id"
	if w.Header().Get(header) == "" {
		w.Header().Set(header, "req-"+uuid.NewString())
	}
}

// WriteJSON answers with a JSON body.
func WriteJSON(w http.ResponseWriter, status int, body any) {
	encoded, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	WriteBody(w, status, encoded)
}

// WriteBody answers with a body that is JSON already. An empty body is left out.
func WriteBody(w http.ResponseWriter, status int, encoded []byte) {
	SetRequestID(w)
	if len(encoded) == 0 {
		w.WriteHeader(status)
		return
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(encoded)))
	w.WriteHeader(status)
	_, _ = w.Write(encoded) // a client that has gone away is no error of the service
}

// WriteCharsetJSON answers with a JSON body whose content type tells its
// character set, as services do that write their errors by hand.
func WriteCharsetJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	WriteJSON(w, status, body)
}

// NoSuchPage is what OpenStack's web framework answers where no route leads.
func NoSuchPage(explanation string) string {
	return "404 Not Found\n\nThe resource could not be found.\n\n " + explanation + "  "
}

// WriteText answers with plain text.
func WriteText(w http.ResponseWriter, status int, text string) {
	SetRequestID(w)
	w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // a client that has gone away is no error of the service
}

// Rooted is the request with the path "/" where http.StripPrefix left nothing,
// so that a mount point answers with and without a trailing slash.
func Rooted(r *http.Request) *http.Request {
	if r.URL.Path != "" {
		return r
	}
	rooted := r.Clone(r.Context())
	rooted.URL.Path = "/"
	return rooted
}
