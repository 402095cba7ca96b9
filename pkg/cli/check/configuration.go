package check

import (
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/cloudprovider"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// configuration returns the findings about the settings themselves: wrong ones, and ones without
// effect.
func configuration(i *config.Inspection) []Finding {
	var found []Finding
	for _, err := range i.Problems {
		found = append(found, aboutPlace(i, Wrong, config.PlaceOf(err), err.Error()))
	}
	for _, w := range i.Warnings {
		found = append(found, aboutPlace(i, Warning, w.Place, w.Text))
	}
	if i.Config == nil {
		return found
	}
	known := cloudprovider.WithKnownAnnotations(i.Config)
	for _, err := range known.Refused.LoadBalancers[len(i.Config.Refused.LoadBalancers):] {
		found = append(found, aboutPlace(i, Wrong, config.PlaceOf(err), err.Error()))
	}
	for _, w := range cloudprovider.UnusedSettings(i.Config, true) {
		found = append(found, aboutPlace(i, Warning, w.Place, w.Text))
	}
	return append(found, idle(i)...)
}

// aboutPlace returns a finding about a place, which is the prefix of its text.
func aboutPlace(i *config.Inspection, verdict Verdict, place, text string) Finding {
	f := Finding{Topic: Configuration, Verdict: verdict, Subject: "cloud.conf", Text: text, Source: i.SourceOf(place)}
	rest, found := strings.CutPrefix(text, place)
	if place == "" || !found {
		f.Text = strings.TrimLeft(strings.TrimPrefix(text, "cloud.conf"), " :")
		return f
	}
	f.Subject, f.Text = strings.TrimPrefix(place, "cloud.conf "), strings.TrimLeft(rest, " :")
	return f
}
