package main

import (
	"errors"
	"net"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	serviceDomain = ".svc.cluster.local."
	maxAliases    = 8    // for one query
	maxQuery      = 1500 // bytes
	answerTTL     = 1    // seconds
)

// serveDNS answers queries for IPv4 addresses and aliases of Services. The arguments are a kubeconfig
// and the UDP address to listen on. It returns only with an error.
func serveDNS(args []string) error {
	if len(args) != 2 {
		return errors.New("want KUBECONFIG ADDRESS:PORT")
	}
	config, err := clientcmd.BuildConfigFromFlags("", args[0])
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	services := factory.Core().V1().Services().Informer().GetStore()
	stop := make(chan struct{})
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	socket, err := net.ListenPacket("udp", args[1])
	if err != nil {
		return err
	}
	buffer := make([]byte, maxQuery)
	for {
		n, from, err := socket.ReadFrom(buffer)
		if err != nil {
			return err
		}
		if response, err := answer(services, buffer[:n]); err == nil {
			_, _ = socket.WriteTo(response, from) // a lost response is requested again
		}
	}
}

// answer returns the response to a query: the address of a Service, after its aliases, or NXDOMAIN.
func answer(services cache.Store, query []byte) ([]byte, error) {
	var message dnsmessage.Message
	if err := message.Unpack(query); err != nil {
		return nil, err
	}
	if len(message.Questions) != 1 {
		return nil, errors.New("want one question")
	}
	message.Response, message.Authoritative, message.RecursionAvailable, message.Additionals = true, true, true, nil
	question := message.Questions[0]
	name := question.Name
	for range maxAliases {
		service, err := lookup(services, name.String())
		if err != nil {
			message.RCode = dnsmessage.RCodeNameError
			break
		}
		record := dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: name, Class: question.Class, TTL: answerTTL}}
		ip := net.ParseIP(service.Spec.ClusterIP).To4()
		switch {
		case service.Spec.Type == corev1.ServiceTypeExternalName:
			if name, err = dnsmessage.NewName(strings.TrimSuffix(service.Spec.ExternalName, ".") + "."); err != nil {
				return nil, err
			}
			record.Body = &dnsmessage.CNAMEResource{CNAME: name}
			message.Answers = append(message.Answers, record)
			continue
		case ip != nil && question.Type == dnsmessage.TypeA:
			record.Body = &dnsmessage.AResource{A: [4]byte(ip)}
			message.Answers = append(message.Answers, record)
		}
		break
	}
	return message.Pack()
}

// lookup returns the Service with a domain name.
func lookup(services cache.Store, domain string) (*corev1.Service, error) {
	name, ours := strings.CutSuffix(domain, serviceDomain)
	service, namespace, _ := strings.Cut(name, ".")
	object, exists, err := services.GetByKey(namespace + "/" + service)
	if err != nil || !ours || !exists {
		return nil, errors.Join(err, errors.New("no Service has the name "+domain))
	}
	return object.(*corev1.Service), nil
}
