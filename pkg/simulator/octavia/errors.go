package octavia

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"
)

// apiError is a refusal. Handlers return it; respond writes it.
type apiError struct {
	status int
	text   string
	// raw errors are raised outside of the typed layer: they have another
	// body, and are plain text in old releases.
	raw bool
}

func (e *apiError) Error() string { return e.text }

func refuse(status int, format string, arguments ...any) *apiError {
	return &apiError{status: status, text: fmt.Sprintf(format, arguments...)}
}

func invalid(format string, arguments ...any) *apiError {
	return refuse(http.StatusBadRequest, "Validation failure: "+format, arguments...)
}

func rawError(status int, text string) *apiError {
	return &apiError{status: status, text: text, raw: true}
}

func notFound(kind, id string) *apiError {
	return refuse(http.StatusNotFound, "%s %s not found.", kind, id)
}

func forbidden() *apiError {
	return refuse(http.StatusForbidden, "Policy does not allow this request to be performed.")
}

func immutable(kind, id string) *apiError {
	return refuse(http.StatusConflict, "%s %s is immutable and cannot be updated.", kind, id)
}

func invalidState(lb *LoadBalancer) *apiError {
	return refuse(http.StatusConflict, "Invalid state %s of loadbalancer resource %s", lb.ProvisioningStatus, lb.ID)
}

func unsupportedOption(provider, format string, arguments ...any) *apiError {
	return refuse(http.StatusNotImplemented, "Provider '%s' does not support a requested option: %s",
		provider, fmt.Sprintf(format, arguments...))
}

func unsupportedAction(provider, text string) *apiError {
	return refuse(http.StatusNotImplemented, "Provider '%s' does not support a requested action: %s", provider, text)
}

func providerError(provider, text string) *apiError {
	return refuse(http.StatusInternalServerError, "Provider '%s' reports error: %s", provider, text)
}

func badArguments() *apiError {
	return refuse(http.StatusBadRequest, "One or more arguments are either duplicate or invalid")
}

// response is what a handler answers: the value is sent as JSON unless nil.
type response struct {
	status int
	value  any
}

func (o *Octavia) write(w http.ResponseWriter, r *http.Request, answer response, failure *apiError) {
	w.Header().Set("X-Openstack-Request-Id", "req-"+uuid.NewString())
	switch {
	case failure == nil && answer.value == nil:
		w.WriteHeader(answer.status)
	case failure == nil:
		writeJSON(w, answer.status, answer.value)
	case !failure.raw:
		code := "Client"
		if failure.status >= http.StatusInternalServerError {
			code = "Server"
		}
		writeJSON(w, failure.status, map[string]any{
			"faultcode": code, "faultstring": failure.text, "debuginfo": nil,
		})
	case o.release.TextErrors && !strings.Contains(r.Header.Get("Accept"), "application/json"):
		writeText(w, failure.status, failure.plain())
	default:
		writeJSON(w, failure.status, map[string]any{
			"code": failure.status, "title": failure.title(), "description": failure.text,
		})
	}
}

// title of a raw error. An object that is missing while the path is still
// being resolved keeps the title "Bad Request".
func (e *apiError) title() string {
	if e.status == http.StatusNotFound && e.text != "" {
		return http.StatusText(http.StatusBadRequest)
	}
	return http.StatusText(e.status)
}

func (e *apiError) plain() string {
	explanation := "The server could not comply with the request since it is either malformed or otherwise incorrect."
	if e.title() == http.StatusText(http.StatusNotFound) {
		explanation = "The resource could not be found."
	}
	return fmt.Sprintf("%d %s\n\n%s\n\n %s  ", e.status, e.title(), explanation, e.text)
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("octavia: answer cannot be JSON: %v", err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may be gone, which is its business
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}
