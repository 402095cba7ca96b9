package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
)

// form is a rule for the text of a value.
type form struct {
	allowed string // the values, as a noun phrase
	check   func(text string) error
}

// formNamed returns the rule with the name of a form tag. The zero form allows all texts.
func formNamed(name string) form {
	switch name {
	case "url":
		return form{"an absolute http or https URL without user and password", checkURL}
	case "literal-bool":
		return form{"true or false", checkLiteralBool}
	case "provider":
		return form{"the name of an Octavia provider, such as amphora or ovn", checkWord}
	case "api-version":
		return form{"a version 2.N, such as 2.26", checkAPIVersion}
	case "octavia-seconds":
		return form{"a duration of whole seconds, at least 1s (such as 5s or 5)", checkOctaviaSeconds}
	case "selector":
		return form{SelectorAllowed, checkSelector}
	case "subnet-pattern":
		return form{"a glob, or a regular expression after ~; a leading ! negates", checkSubnetPattern}
	case "subnet-tags":
		return form{"tags separated by commas: any of them, all of them after &; a leading ! negates", checkSubnetTags}
	case "tags":
		return form{TagsAllowed, checkTags}
	case "cidrs":
		return form{"CIDR blocks separated by commas or spaces", checkCIDRs}
	case "id":
		return form{"an ID, or none", checkID}
	case "ids":
		return form{"IDs separated by commas, or none", checkIDs}
	case "ports":
		return form{PortsAllowed, checkPorts}
	case "annotations":
		return form{"names of annotations of Services separated by commas", checkAnnotations}
	case "domain":
		return form{"a DNS name", checkDomain}
	case "server-statuses":
		return form{"statuses separated by commas, of " + strings.Join(shutdownStatuses(), ", "), checkServerStatuses}
	case "search-order":
		return form{"configDrive, metadataService or both, separated by a comma", checkSearchOrder}
	default:
		return form{}
	}
}

// checkURL does not repeat the text in its error, because it may contain a password.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("it is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("it does not start with http:// or https://")
	case u.Hostname() == "":
		return errors.New("it has no host")
	case u.User != nil:
		return errors.New("it has a user or password in it")
	}
	return nil
}

// checkLiteralBool allows two words only: a setting that disables verification must not be guessed.
func checkLiteralBool(text string) error {
	if text != "true" && text != "false" {
		return errors.New("it is neither true nor false")
	}
	return nil
}

func checkWord(text string) error {
	if text == "" || strings.ContainsAny(text, " \t") {
		return errors.New("it is not one word")
	}
	return nil
}

var apiVersion = regexp.MustCompile(`^v?2\.[0-9]{1,4}$`)

func checkAPIVersion(text string) error {
	if !apiVersion.MatchString(text) {
		return errors.New("it is not such a version")
	}
	return nil
}

// checkOctaviaSeconds validates the times of a health monitor, which Octavia stores as whole
// seconds.
func checkOctaviaSeconds(text string) error {
	var d Duration
	if err := d.UnmarshalText([]byte(text)); err != nil {
		return err
	}
	if d.Duration < time.Second {
		return errors.New("it is less than a second")
	}
	if d.Truncate(time.Second) != d.Duration {
		return errors.New("it is not a whole number of seconds")
	}
	return nil
}

func checkSelector(text string) error {
	_, err := ParseSelector(text)
	return err
}

func checkSubnetPattern(text string) error {
	_, err := NewSubnetMatcher(text, "")
	return err
}

func checkSubnetTags(text string) error {
	_, err := NewSubnetMatcher("", text)
	return err
}

// Items splits a list at commas and spaces.
func Items(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// PodPrefixes returns PodNetworks, which was validated when cloud.conf was loaded.
func (l LoadBalancer) PodPrefixes() []netip.Prefix {
	var all []netip.Prefix
	for _, text := range Items(l.PodNetworks) {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			all = append(all, prefix.Masked())
		}
	}
	return all
}

func checkCIDRs(text string) error {
	for _, part := range Items(text) {
		if _, err := netip.ParsePrefix(part); err != nil {
			return fmt.Errorf("%q is not a CIDR block", part)
		}
	}
	return nil
}

func checkID(text string) error {
	if text != "none" && (len(text) != 36 || uuid.Validate(text) != nil) {
		return fmt.Errorf("%q is not an ID", text)
	}
	return nil
}

func checkIDs(text string) error {
	if text == "none" {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "none" {
			return errors.New("none stands alone")
		} else if err := checkID(part); err != nil {
			return err
		}
	}
	return nil
}

func checkDomain(text string) error {
	name := regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)
	if len(text) > 253 || !name.MatchString(text) {
		return errors.New("it is not a DNS name")
	}
	return nil
}

// shutdownStatuses returns the statuses of Nova in which a server may have no running guest.
func shutdownStatuses() []string {
	return []string{"SHUTOFF", "SHELVED", "SHELVED_OFFLOADED", "SUSPENDED", "PAUSED", "RESCUE", "ERROR"}
}

func checkServerStatuses(text string) error {
	for _, part := range Items(text) {
		if !slices.Contains(shutdownStatuses(), part) {
			return fmt.Errorf("unknown status %q", part)
		}
	}
	return nil
}

func checkSearchOrder(text string) error {
	known := []string{"configDrive", "metadataService"}
	for _, part := range strings.Split(text, ",") {
		if !slices.Contains(known, strings.TrimSpace(part)) {
			return fmt.Errorf("%q is not known", strings.TrimSpace(part))
		}
	}
	return nil
}

// checkAnnotations validates the form only. This package does not know the annotations.
func checkAnnotations(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		if name := strings.TrimSpace(part); strings.ContainsAny(name, " \t") || name == "" && strings.TrimSpace(text) != "" {
			return fmt.Errorf("%q is not the name of an annotation", name)
		}
	}
	return nil
}
