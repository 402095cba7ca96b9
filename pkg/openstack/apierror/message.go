package apierror

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// maxMessage limits the part of a service's message that is shown, in characters. A Kubernetes
// event has 1024 for the whole text.
const maxMessage = 300

// errorBody is the content of an error body.
type errorBody struct {
	// known is set for the formats of OpenStack services.
	known bool
	// octavia is set for Octavia's formats.
	octavia bool
	// unknownPath is set if the service does not know the URL.
	unknownPath bool
	message     string
	neutronType string
}

// parseErrorBody parses the formats of error bodies:
//
//	{"faultcode": …, "faultstring": TEXT, "debuginfo": …}        Octavia
//	{"code": …, "title": …, "description": TEXT}                 Octavia, before its controllers
//	{"NeutronError": {"type": TYPE, "message": TEXT, …}}         Neutron; also the text alone
//	{"itemNotFound": {"code": …, "message": TEXT}}, {"error": …} Nova, Keystone and its middleware
//	{"message": TEXT, …}                                         others
//	text or HTML                                                 proxies, body size filter
func parseErrorBody(body []byte) errorBody {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return errorBody{message: oneLine(plainText(string(body)), maxMessage)}
	}
	parsed := readErrorFields(fields)
	parsed.known = parsed.message != ""
	parsed.message = oneLine(parsed.message, maxMessage)
	return parsed
}

func readErrorFields(fields map[string]json.RawMessage) errorBody {
	if text := stringField(fields, "faultstring"); text != "" {
		return errorBody{message: text, octavia: true}
	}
	if neutron, ok := fields["NeutronError"]; ok {
		return readNeutronError(neutron)
	}
	if description, ok := fields["description"]; ok {
		text := ""
		if json.Unmarshal(description, &text) == nil && text != "" {
			return errorBody{message: text, octavia: true}
		}
		return errorBody{message: stringField(fields, "title"), unknownPath: true}
	}
	if text := stringField(fields, "message"); text != "" {
		return errorBody{message: text}
	}
	keys := make([]string, 0, len(fields))
	for key := range fields {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		var inner map[string]json.RawMessage
		if json.Unmarshal(fields[key], &inner) != nil {
			continue
		}
		if text := stringField(inner, "message"); text != "" {
			return errorBody{message: text}
		}
	}
	return errorBody{}
}

func readNeutronError(raw json.RawMessage) errorBody {
	var details struct{ Type, Message string }
	if json.Unmarshal(raw, &details) == nil {
		return errorBody{message: details.Message, neutronType: oneLine(details.Type, 64)}
	}
	text := ""
	if json.Unmarshal(raw, &text) != nil {
		return errorBody{}
	}
	return errorBody{message: text}
}

func stringField(fields map[string]json.RawMessage, key string) string {
	text := ""
	if json.Unmarshal(fields[key], &text) != nil {
		return ""
	}
	return text
}

var (
	htmlTitle = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
	htmlTag   = regexp.MustCompile(`(?s)<[^>]*>`)
	// fernetToken matches Keystone's tokens, which its errors may contain.
	fernetToken = regexp.MustCompile(`gAAAA[A-Za-z0-9_=-]{16,}`)
	// jwsToken matches the other kind: three parts in base64url, of which the first is a JSON
	// object.
	jwsToken = regexp.MustCompile(`eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`)
)

// plainText returns the title of an HTML page, or else the text without tags.
func plainText(text string) string {
	if title := htmlTitle.FindStringSubmatch(text); title != nil {
		return title[1]
	}
	return htmlTag.ReplaceAllString(text, " ")
}

// oneLine converts a text for an event: one line without control characters and tokens, of at most
// limit characters.
func oneLine(text string, limit int) string {
	text = fernetToken.ReplaceAllString(text, "(token)")
	text = jwsToken.ReplaceAllString(text, "(token)")
	words := strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
	runes := []rune(strings.Join(words, " "))
	if len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return string(runes)
}

// Message returns the service's message in one line of limited length; without an answer, the
// cause.
func Message(err error) string {
	if err == nil {
		return ""
	}
	if resp := response(err); resp != nil {
		if text := parseErrorBody(resp.Body).message; text != "" {
			return text
		}
		return http.StatusText(resp.Actual)
	}
	return describe(err)
}

// CallError is a failed call with its purpose.
type CallError struct {
	// Doing is the verb and the object: "create load balancer NAME". The name or ID may come from
	// an answer of a service.
	Doing string
	// Err is the error of gophercloud or net/http.
	Err error
}

// Error returns a text for an event: "create load balancer a: Octavia answered 403 Quota has been
// met for resources: Load Balancer (request req-…)".
func (e *CallError) Error() string { return oneLine(e.Doing, maxMessage) + ": " + describe(e.Err) }

// Unwrap returns the underlying error, for the Is… functions.
func (e *CallError) Unwrap() error { return e.Err }

// Wrap adds the purpose of the failed call to an error. It returns nil for nil. All functions of
// this package that classify errors look through it.
func Wrap(err error, doing string) error {
	if err == nil {
		return nil
	}
	return &CallError{Doing: doing, Err: err}
}

// describe returns an error in one readable line, without the context that net/http and gophercloud
// add (method, URL, expected codes).
func describe(err error) string {
	var call *CallError
	var auth *AuthenticationError
	var silent *NoAnswerError
	switch {
	case errors.As(err, &call):
		return err.Error()
	case errors.As(err, &auth):
		return auth.Error()
	case errors.As(err, &silent):
		return oneLine(silent.Error(), maxMessage)
	}
	if resp := response(err); resp != nil {
		text := fmt.Sprintf("%s answered %d %s", serviceOf(resp.Method, resp.URL), resp.Actual, Message(err))
		if to := redirect(resp); to != "" {
			text += ", a redirect to " + to + ", which is not followed: set that in auth-url, or in the service catalog"
		}
		if id := RequestID(err); id != "" {
			text += " (request " + id + ")"
		}
		return text
	}
	if IsUnreadable(err) {
		return oneLine("the answer cannot be read: "+err.Error(), maxMessage)
	}
	return oneLine(err.Error(), maxMessage)
}

// redirect returns scheme and host of a redirect, "" for any other answer. The path may contain a
// secret.
func redirect(resp *gophercloud.ErrUnexpectedResponseCode) string {
	if resp.Actual < http.StatusMultipleChoices || resp.Actual >= http.StatusBadRequest {
		return ""
	}
	to, err := url.Parse(resp.ResponseHeader.Get("Location"))
	if err != nil || to.Host == "" {
		return ""
	}
	return oneLine(to.Scheme+"://"+to.Host, 100)
}

// serviceOf returns the name of the service of a URL.
func serviceOf(method, address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return rest.OpenStack
	}
	return rest.KindOf(method, parsed.Path).Service
}
