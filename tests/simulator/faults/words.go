package faults

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Kinds returns the predefined faults by name: answers of a failing OpenStack, or of a proxy in
// front of it. The caller sets Method, Route and the like.
func Kinds() map[string]Rule {
	after := func(rule Rule) Rule {
		rule.AfterWork = true
		return rule
	}
	worded := func(status int) Rule { return Rule{Status: status, Worded: true} }
	return map[string]Rule{
		"unauthorized":               worded(http.StatusUnauthorized),
		"forbidden":                  worded(http.StatusForbidden),
		"not-found":                  worded(http.StatusNotFound),
		"conflict":                   worded(http.StatusConflict),
		"too-large":                  worded(http.StatusRequestEntityTooLarge),
		"too-many":                   worded(http.StatusTooManyRequests),
		"internal-error":             worded(http.StatusInternalServerError),
		"bad-gateway":                worded(http.StatusBadGateway),
		"bad-gateway-after-work":     after(worded(http.StatusBadGateway)),
		"unavailable":                worded(http.StatusServiceUnavailable),
		"unavailable-after-work":     after(worded(http.StatusServiceUnavailable)),
		"gateway-timeout":            worded(http.StatusGatewayTimeout),
		"gateway-timeout-after-work": after(worded(http.StatusGatewayTimeout)),
		"drop":                       {Drop: true},
		"reset":                      {Reset: true},
		"reset-during-work":          {Reset: true, DuringWork: true},
		"reset-after-work":           {Reset: true, AfterWork: true},
	}
}

// retryAfter is the value of an overloaded service, in seconds.
const retryAfter = "1"

// word returns the body that the service of a route sends with a status, and sets the header fields
// for it.
func word(header http.Header, status int, r *http.Request) string {
	switch status {
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return proxyPage(header, status)
	case http.StatusUnauthorized:
		header.Set("Www-Authenticate", fmt.Sprintf("Keystone uri=%q", "http://"+r.Host+"/identity/v3"))
		return encode(header, map[string]any{"error": map[string]any{
			"code": status, "title": "Unauthorized", "message": "The request you have made requires authentication.",
		}})
	case http.StatusRequestEntityTooLarge:
		header.Set("Content-Type", "text/plain; charset=UTF-8")
		return "413 Request Entity Too Large\n\nThe body of your request was too large for this server.\n\n" +
			"Request is too large. Larger than max_request_body_size (114688).\n\n"
	case http.StatusTooManyRequests:
		header.Set("Retry-After", retryAfter)
	case http.StatusServiceUnavailable:
		if r.Method == http.MethodGet {
			return proxyPage(header, status)
		}
	}
	return serviceError(header, status, r)
}

func proxyPage(header http.Header, status int) string {
	header.Set("Content-Type", "text/html")
	header.Set("Cache-Control", "no-cache")
	reasons := map[int]string{
		http.StatusBadGateway:         "The server returned an invalid or incomplete response.",
		http.StatusServiceUnavailable: "No server is available to handle this request.",
		http.StatusGatewayTimeout:     "The server didn't respond in time.",
	}
	title := fmt.Sprintf("%d %s", status, http.StatusText(status))
	if status == http.StatusGatewayTimeout {
		title = "504 Gateway Time-out"
	}
	return "<html><body><h1>" + title + "</h1>\n" + reasons[status] + "\n</body></html>\n"
}

// serviceError puts a message into the envelope of the service.
func serviceError(header http.Header, status int, r *http.Request) string {
	service, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	message := messages(r)[status]
	if message == "" {
		message = http.StatusText(status)
	}
	switch service {
	case "load-balancer":
		code := "Client"
		if status >= http.StatusInternalServerError {
			code = "Server"
		}
		return encode(header, map[string]any{"faultcode": code, "faultstring": message, "debuginfo": nil})
	case "network":
		kind := strings.ReplaceAll(http.StatusText(status), " ", "")
		return encode(header, map[string]any{"NeutronError": map[string]any{"type": "HTTP" + kind, "message": message, "detail": ""}})
	case "compute":
		kinds := map[int]string{
			http.StatusForbidden: "forbidden", http.StatusNotFound: "itemNotFound", http.StatusConflict: "conflictingRequest",
			http.StatusTooManyRequests: "overLimit",
		}
		kind := kinds[status]
		if kind == "" {
			kind = "computeFault"
		}
		return encode(header, map[string]any{kind: map[string]any{"code": status, "message": message}})
	}
	return encode(header, map[string]any{"error": map[string]any{
		"code": status, "title": http.StatusText(status), "message": message,
	}})
}

// messages returns the messages of services by status; the 500 is an uncaught Python exception.
func messages(r *http.Request) map[int]string {
	parts := strings.Split(strings.TrimSuffix(r.URL.Path, "/"), "/")
	id := parts[len(parts)-1]
	return map[int]string{
		http.StatusForbidden:           "Policy does not allow this request to be performed.",
		http.StatusNotFound:            "Object " + id + " not found.",
		http.StatusConflict:            "Load Balancer " + id + " is immutable and cannot be updated.",
		http.StatusTooManyRequests:     "This request was rate-limited.",
		http.StatusInternalServerError: "(pymysql.err.OperationalError) (2013, 'Lost connection to MySQL server during query')\n(Background on this error at: https://sqlalche.me/e/14/e3q8)",
		http.StatusServiceUnavailable:  "The project is busy with other requests. Please try again later.",
	}
}

func encode(header http.Header, body any) string {
	header.Set("Content-Type", "application/json")
	encoded, _ := json.Marshal(body) // strings and numbers always encode
	return string(encoded)
}
