// Package recorded sends recorded requests to a simulated service, and compares its answers with
// the recorded ones of a real OpenStack.
package recorded

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Exchange is one request with the answer it got, one JSON object a line in
// a recording. {{name}} anywhere stands for a variable.
type Exchange struct {
	Name    string            `json:"name"`
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	// Body is JSON, or a JSON string that is sent as it is.
	Body json.RawMessage `json:"body"`
	// Anonymous requests carry no token.
	Anonymous bool `json:"anonymous"`
	// Save names variables that later requests need, with where the answer has
	// their value: ports.0.id.
	Save map[string]string `json:"save"`

	Status      int             `json:"status"`
	ContentType string          `json:"content_type"`
	Response    json.RawMessage `json:"response"`
}

// Read reads a recording.
func Read(path string) ([]Exchange, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	var exchanges []Exchange
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		var next Exchange
		if err := json.Unmarshal(lines.Bytes(), &next); err != nil {
			return nil, fmt.Errorf("read recording %s, line %d: %w", path, len(exchanges)+1, err)
		}
		exchanges = append(exchanges, next)
	}
	return exchanges, nil
}

// Player sends recorded requests to another cloud.
type Player struct {
	// URL of the service and Token to bring.
	URL, Token string
	// Variables by name, to begin with; Save adds to them.
	Variables map[string]string
}

// Answer is what a request got.
type Answer struct {
	Status      int
	ContentType string
	// Body is decoded JSON, a string where it is none, nil where there is none.
	Body any
}

// Send sends the request of an exchange.
func (p *Player) Send(ctx context.Context, exchange Exchange) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, exchange.Method, p.URL+p.fill(exchange.Path), p.body(exchange))
	if err != nil {
		return Answer{}, fmt.Errorf("%s: %w", exchange.Name, err)
	}
	if len(exchange.Body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	if !exchange.Anonymous {
		request.Header.Set("X-Auth-Token", p.Token)
	}
	for name, value := range exchange.Headers {
		request.Header.Set(name, p.fill(value))
	}
	response, err := http.DefaultTransport.RoundTrip(request) // follows no redirects
	if err != nil {
		return Answer{}, fmt.Errorf("%s: %w", exchange.Name, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("%s: read the answer: %w", exchange.Name, err)
	}
	answer := Answer{Status: response.StatusCode, ContentType: response.Header.Get("Content-Type"), Body: decode(text)}
	return answer, p.save(exchange, answer.Body)
}

func (p *Player) body(exchange Exchange) io.Reader {
	text := string(exchange.Body)
	var plain string
	if json.Unmarshal(exchange.Body, &plain) == nil {
		text = plain
	}
	return strings.NewReader(p.fill(text))
}

// fill puts variables in.
func (p *Player) fill(text string) string {
	for name, value := range p.Variables {
		text = strings.ReplaceAll(text, "{{"+name+"}}", value)
	}
	return text
}

func (p *Player) save(exchange Exchange, body any) error {
	for name, path := range exchange.Save {
		value := body
		for step := range strings.SplitSeq(path, ".") {
			switch inside := value.(type) {
			case map[string]any:
				value = inside[step]
			case []any:
				at, err := strconv.Atoi(step)
				if err != nil || at >= len(inside) {
					return fmt.Errorf("%s: the answer has no %s", exchange.Name, path)
				}
				value = inside[at]
			}
		}
		text, is := value.(string)
		if !is {
			return fmt.Errorf("%s: the answer has no text at %s: %v", exchange.Name, path, body)
		}
		p.Variables[name] = text
	}
	return nil
}

// Want is the recorded answer with the variables as they are now.
func (p *Player) Want(exchange Exchange) Answer {
	return Answer{
		Status: exchange.Status, ContentType: exchange.ContentType, Body: decode([]byte(p.fill(string(exchange.Response)))),
	}
}

// decode reads JSON; numbers keep their spelling.
func decode(text []byte) any {
	if len(text) == 0 {
		return nil
	}
	var body any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if !json.Valid(text) || decoder.Decode(&body) != nil {
		return string(text)
	}
	return body
}

// masks are texts that differ from cloud to cloud, and what they become.
func masks() []struct{ pattern, text string } {
	return []struct{ pattern, text string }{
		{`https?://(127\.0\.0\.1|localhost)(:\d+)?(/(identity|network|compute|load-balancer))?`, "<url>"},
		{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "<id>"},
		{`\b[0-9a-f]{32}\b`, "<id>"},
		{`\b[0-9a-f]{56}\b`, "<host>"},
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?`, "<time>"},
		{`([0-9a-f]{2}:){5}[0-9a-f]{2}`, "<mac>"},
		{`(10\.6|172\.24|10-6|172-24)[.-]\d+[.-]\d+\b`, "<address>"},
		{`fd00:6::[0-9a-f]+\b`, "<address>"},
		{`host-fd00-6--[0-9a-f]+\b`, "host-<address>"},
	}
}

// Mask makes answers of different clouds comparable: IDs, times and addresses
// all look the same, the values under the given keys are left out, and lists
// are in the order of their masked text.
func Mask(value any, without ...string) any {
	masker := masker{without: map[string]bool{}}
	for _, key := range without {
		masker.without[key] = true
	}
	for _, mask := range masks() {
		masker.patterns = append(masker.patterns, regexp.MustCompile(mask.pattern))
		masker.texts = append(masker.texts, mask.text)
	}
	return masker.mask(value)
}
