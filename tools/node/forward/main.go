// Command forward opens ports of a network namespace to this one's loopback:
//
//	forward PID PORT[=ADDRESS]...
//
// Each port is served on 127.0.0.1 here. Its connections are made in the network namespace of the process PID, to ADDRESS
// (host and port), or to the same port of 127.0.0.1.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: forward PID PORT[=ADDRESS]...")
	}
	namespace, err := os.Open(fmt.Sprintf("/proc/%s/ns/net", os.Args[1]))
	if err != nil {
		log.Fatal(err)
	}
	for _, word := range os.Args[2:] {
		port, address, found := strings.Cut(word, "=")
		if !found {
			address = "127.0.0.1:" + port
		}
		listener, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			log.Fatal(err)
		}
		go serve(listener, namespace, address)
	}
	select {}
}

func serve(listener net.Listener, namespace *os.File, address string) {
	for {
		near, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go func() {
			far, err := dialIn(namespace, address)
			if err != nil {
				log.Print(err)
				near.Close()
				return
			}
			join(near.(*net.TCPConn), far.(*net.TCPConn))
		}()
	}
}

// dialIn makes the socket in the namespace. A namespace belongs to a thread, and matters while a socket is made only.
func dialIn(namespace *os.File, address string) (net.Conn, error) {
	type result struct {
		connection net.Conn
		err        error
	}
	results := make(chan result)
	go func() {
		// Never unlocked: the runtime ends the thread with the goroutine, so no other one gets it.
		runtime.LockOSThread()
		if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
			results <- result{err: fmt.Errorf("setns: %w", err)}
			return
		}
		connection, err := net.Dial("tcp", address)
		results <- result{connection, err}
	}()
	got := <-results
	return got.connection, got.err
}

func join(near, far *net.TCPConn) {
	defer near.Close()
	defer far.Close()
	done := make(chan struct{})
	go func() {
		io.Copy(far, near)
		far.CloseWrite()
		close(done)
	}()
	io.Copy(near, far)
	near.CloseWrite()
	<-done
}
