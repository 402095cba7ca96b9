package reload

import (
	"reflect"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
)

// look is the configuration and the files that it names at one time.
type look struct {
	conf     *config.Config
	warnings []config.Warning
	files    transport.TLS
	// err is the error of reading the others.
	err error
}

func (w *Watcher) look() look {
	conf, warnings, err := w.options.Read()
	if err != nil {
		return look{err: err}
	}
	files, err := transport.ReadTLS(conf.Global)
	return look{conf: conf, warnings: warnings, files: files, err: err}
}

func (l look) same(o look) bool {
	if l.err != nil || o.err != nil {
		return l.err != nil && o.err != nil && l.err.Error() == o.err.Error()
	}
	return l.files == o.files && reflect.DeepEqual(l.conf, o.conf)
}

// settings returns the differences to a configuration, without those of [Global].
func (l look) settings(inForce *config.Config) (changes []config.Change, differ bool) {
	for _, change := range config.Changes(inForce, l.conf) {
		if !change.Global {
			changes = append(changes, change)
		}
	}
	return changes, len(changes) > 0 || !reflect.DeepEqual(inForce.Refused, l.conf.Refused)
}

// credentials returns the differences of the credentials.
func (l look) credentials(inForce config.Global, files transport.TLS) (changes []config.Change) {
	for _, change := range config.Changes(&config.Config{Global: inForce}, l.conf) {
		if change.Global {
			changes = append(changes, change)
		}
	}
	if len(changes) == 0 && l.files != files {
		changes = append(changes, config.Change{Setting: "a file that ca-file, cert-file or key-file names", Global: true})
	}
	return changes
}
