package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/node"
)

// requestTimeout bounds one request to a Service.
const requestTimeout = 10 * time.Second

// Ask sends one HTTP request over a connection of its own, and returns the name
// of the node that answered.
func Ask(ctx context.Context, url string) (string, error) {
	client := http.Client{Timeout: requestTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return "", fmt.Errorf("read the answer of %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answered %s", url, response.Status)
	}
	return response.Header.Get(node.HeaderNode), nil
}

// Answers asks so many times and counts the answers of each node. Any request
// that fails is an error.
func Answers(ctx context.Context, url string, requests int) (map[string]int, error) {
	answers := map[string]int{}
	for i := range requests {
		name, err := Ask(ctx, url)
		if err != nil {
			return nil, fmt.Errorf("request %d of %d: %w", i+1, requests, err)
		}
		answers[name]++
	}
	return answers, nil
}
