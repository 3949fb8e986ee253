// Command driver is a CSI driver for tests of snapshots on one node:
//
//	driver FOLDER SOCKET REGISTRATION NODE
//
// A volume is a file in FOLDER with an ext4 file system, mounted by a loop device; a snapshot is a copy of that file, taken
// while the file system is frozen, as a storage system takes one. SOCKET serves CSI, REGISTRATION the kubelet, which
// finds drivers in its folder plugins_registry. It is for tests only: nothing is replicated, and a copy takes as long as it is large.
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

const (
	name           = "volumes.freehold.test"
	defaultSize    = 1 << 30
	freeze         = 0xC0045877 // FIFREEZE
	thaw           = 0xC0045878 // FITHAW
	onlyOwner      = 0o750
	volumeFolder   = "volumes"
	snapshotFolder = "snapshots"
)

func main() {
	if len(os.Args) != 5 {
		log.Fatal("usage: driver FOLDER SOCKET REGISTRATION NODE")
	}
	folder, socket, registrar, node := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	for _, each := range []string{volumeFolder, snapshotFolder} {
		if err := os.MkdirAll(filepath.Join(folder, each), onlyOwner); err != nil {
			log.Fatal(err)
		}
	}
	own := &driver{folder: folder, socket: socket, node: node, staged: map[string]string{}}
	services := grpc.NewServer(grpc.UnaryInterceptor(logFailures))
	csi.RegisterIdentityServer(services, own)
	csi.RegisterControllerServer(services, own)
	csi.RegisterNodeServer(services, own)
	go serve(services, socket)
	kubelet := grpc.NewServer()
	registration.RegisterRegistrationServer(kubelet, own)
	serve(kubelet, registrar)
}

func serve(server *grpc.Server, socket string) {
	_ = os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	if err == nil {
		err = server.Serve(listener)
	}
	log.Fatal(err)
}

func logFailures(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	answer, err := handle(ctx, request)
	if err != nil {
		log.Print(info.FullMethod, ": ", err)
	}
	return answer, err
}

type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer
	csi.UnimplementedNodeServer
	registration.UnimplementedRegistrationServer
	folder, socket, node string
	// Calls wait for each other.
	lock sync.Mutex
	// Where volumes are mounted, by their ids.
	staged map[string]string
}

func (d *driver) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type: registration.CSIPlugin, Name: name, Endpoint: d.socket, SupportedVersions: []string{"1.0.0"},
	}, nil
}

func (d *driver) NotifyRegistrationStatus(_ context.Context, is *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	log.Printf("registered: %t %s", is.PluginRegistered, is.Error)
	return &registration.RegistrationStatusResponse{}, nil
}

func (d *driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: name, VendorVersion: "1"}, nil
}

func (d *driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	service := &csi.PluginCapability_Service{Type: csi.PluginCapability_Service_CONTROLLER_SERVICE}
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{
		{Type: &csi.PluginCapability_Service_{Service: service}},
	}}, nil
}

func (d *driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}

func (d *driver) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	answer := &csi.ControllerGetCapabilitiesResponse{}
	for _, each := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
		csi.ControllerServiceCapability_RPC_LIST_SNAPSHOTS,
	} {
		rpc := &csi.ControllerServiceCapability_RPC{Type: each}
		answer.Capabilities = append(answer.Capabilities, &csi.ControllerServiceCapability{
			Type: &csi.ControllerServiceCapability_Rpc{Rpc: rpc},
		})
	}
	return answer, nil
}

// The id of what has this name, so that a repeated request finds it.
func idOf(name string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(name)))[:32] }

func missing(field string) error { return status.Error(codes.InvalidArgument, field+" is missing") }
func failed(err error) error     { return status.Error(codes.Internal, err.Error()) }

func (d *driver) volume(id string) string {
	return filepath.Join(d.folder, volumeFolder, filepath.Base(id))
}

func (d *driver) CreateVolume(_ context.Context, in *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if in.Name == "" {
		return nil, missing("name")
	}
	if len(in.VolumeCapabilities) == 0 {
		return nil, missing("volume_capabilities")
	}
	for _, each := range in.VolumeCapabilities {
		if each.GetMount() == nil {
			return nil, status.Error(codes.InvalidArgument, "only mounted volumes")
		}
	}
	wanted, limit := in.GetCapacityRange().GetRequiredBytes(), in.GetCapacityRange().GetLimitBytes()
	id := idOf(in.Name)
	answer := &csi.Volume{VolumeId: id, ContentSource: in.VolumeContentSource}
	if found, err := os.Stat(d.volume(id)); err == nil {
		if answer.CapacityBytes = found.Size(); found.Size() < wanted || limit > 0 && found.Size() > limit {
			return nil, status.Error(codes.AlreadyExists, "it has another size")
		}
		return &csi.CreateVolumeResponse{Volume: answer}, nil
	}
	if answer.CapacityBytes = max(wanted, limit); answer.CapacityBytes == 0 {
		answer.CapacityBytes = defaultSize
	}
	if in.VolumeContentSource == nil {
		return &csi.CreateVolumeResponse{Volume: answer}, d.format(id, answer.CapacityBytes)
	}
	from := in.VolumeContentSource.GetSnapshot()
	if from == nil {
		return nil, status.Error(codes.InvalidArgument, "only snapshots are a source")
	}
	source, found := d.snapshot(from.SnapshotId)
	if !found {
		return nil, status.Error(codes.NotFound, "no such snapshot")
	}
	answer.CapacityBytes = max(wanted, source.SizeBytes)
	return &csi.CreateVolumeResponse{Volume: answer}, d.fill(id, source, answer.CapacityBytes)
}

// An empty file system.
func (d *driver) format(id string, size int64) error {
	return d.make(d.volume(id), func(file string) error {
		if err := run("truncate", "--size", strconv.FormatInt(size, 10), file); err != nil {
			return err
		}
		return run("mkfs.ext4", "-q", "-F", file)
	})
}

// The file system of a snapshot, as large as the volume.
func (d *driver) fill(id string, source *csi.Snapshot, size int64) error {
	return d.make(d.volume(id), func(file string) error {
		err := copyFile(d.snapshotFile(source), file)
		if err != nil || size == source.SizeBytes {
			return err
		}
		if err := run("truncate", "--size", strconv.FormatInt(size, 10), file); err != nil {
			return err
		}
		if err := run("e2fsck", "-fy", file); err != nil && !strings.Contains(err.Error(), "exit status 1") {
			return err
		}
		return run("resize2fs", file)
	})
}

// A file appears as a whole or not at all.
func (d *driver) make(path string, write func(temporary string) error) error {
	temporary := filepath.Join(d.folder, filepath.Base(path)+".new")
	err := write(temporary)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary)
		return failed(err)
	}
	return nil
}

func copyFile(from, to string) error { return run("cp", "--sparse=always", "--reflink=auto", from, to) }

func run(program string, arguments ...string) error {
	if output, err := exec.Command(program, arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, output)
	}
	return nil
}

func (d *driver) DeleteVolume(_ context.Context, in *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if in.VolumeId == "" {
		return nil, missing("volume_id")
	}
	if _, isStaged := d.staged[in.VolumeId]; isStaged {
		return nil, status.Error(codes.FailedPrecondition, "it is mounted")
	}
	if err := os.Remove(d.volume(in.VolumeId)); err != nil && !os.IsNotExist(err) {
		return nil, failed(err)
	}
	return &csi.DeleteVolumeResponse{}, nil
}

func (d *driver) ValidateVolumeCapabilities(_ context.Context, in *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	if in.VolumeId == "" || len(in.VolumeCapabilities) == 0 {
		return nil, missing("volume_id or volume_capabilities")
	}
	if err := d.mustExist(in.VolumeId); err != nil {
		return nil, err
	}
	confirmed := &csi.ValidateVolumeCapabilitiesResponse_Confirmed{VolumeCapabilities: in.VolumeCapabilities}
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: confirmed}, nil
}

func (d *driver) mustExist(id string) error {
	if _, err := os.Stat(d.volume(id)); err != nil {
		return status.Error(codes.NotFound, "no such volume")
	}
	return nil
}

// The name of the file has both ids.
func (d *driver) snapshotFile(of *csi.Snapshot) string {
	return filepath.Join(d.folder, snapshotFolder, of.SnapshotId+"."+of.SourceVolumeId)
}

func (d *driver) snapshots() []*csi.Snapshot {
	entries, _ := os.ReadDir(filepath.Join(d.folder, snapshotFolder))
	found := []*csi.Snapshot{}
	for _, entry := range entries {
		if file, err := entry.Info(); err == nil {
			id, volume, _ := strings.Cut(entry.Name(), ".")
			found = append(found, &csi.Snapshot{
				SnapshotId: id, SourceVolumeId: volume, SizeBytes: file.Size(), CreationTime: timestamppb.New(file.ModTime()), ReadyToUse: true,
			})
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].SnapshotId < found[j].SnapshotId })
	return found
}

func (d *driver) snapshot(id string) (*csi.Snapshot, bool) {
	for _, each := range d.snapshots() {
		if each.SnapshotId == id {
			return each, true
		}
	}
	return nil, false
}

func (d *driver) CreateSnapshot(_ context.Context, in *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if in.Name == "" || in.SourceVolumeId == "" {
		return nil, missing("name or source_volume_id")
	}
	if err := d.mustExist(in.SourceVolumeId); err != nil {
		return nil, err
	}
	id := idOf(in.Name)
	if found, isThere := d.snapshot(id); isThere {
		if found.SourceVolumeId != in.SourceVolumeId {
			return nil, status.Error(codes.AlreadyExists, "it is of another volume")
		}
		return &csi.CreateSnapshotResponse{Snapshot: found}, nil
	}
	file := d.snapshotFile(&csi.Snapshot{SnapshotId: id, SourceVolumeId: in.SourceVolumeId})
	if err := d.make(file, func(temporary string) error { return d.copyAtOnce(in.SourceVolumeId, temporary) }); err != nil {
		return nil, err
	}
	made, _ := d.snapshot(id)
	return &csi.CreateSnapshotResponse{Snapshot: made}, nil
}

// Nothing is written to the volume meanwhile.
func (d *driver) copyAtOnce(volume, to string) error {
	if path, isStaged := d.staged[volume]; isStaged {
		mounted, err := os.Open(path)
		if err != nil {
			return err
		}
		defer mounted.Close()
		if err := unix.IoctlSetInt(int(mounted.Fd()), freeze, 0); err != nil {
			return err
		}
		defer unix.IoctlSetInt(int(mounted.Fd()), thaw, 0)
	}
	return copyFile(d.volume(volume), to)
}

func (d *driver) DeleteSnapshot(_ context.Context, in *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if in.SnapshotId == "" {
		return nil, missing("snapshot_id")
	}
	if found, isThere := d.snapshot(in.SnapshotId); isThere {
		if err := os.Remove(d.snapshotFile(found)); err != nil {
			return nil, failed(err)
		}
	}
	return &csi.DeleteSnapshotResponse{}, nil
}

func (d *driver) ListSnapshots(_ context.Context, in *csi.ListSnapshotsRequest) (*csi.ListSnapshotsResponse, error) {
	start := 0
	if in.StartingToken != "" {
		var err error
		if start, err = strconv.Atoi(in.StartingToken); err != nil {
			return nil, status.Error(codes.Aborted, "starting_token is unknown")
		}
	}
	answer := &csi.ListSnapshotsResponse{}
	for at, each := range d.snapshots() {
		if at < start || in.SnapshotId != "" && in.SnapshotId != each.SnapshotId || in.SourceVolumeId != "" && in.SourceVolumeId != each.SourceVolumeId {
			continue
		}
		if in.MaxEntries > 0 && len(answer.Entries) == int(in.MaxEntries) {
			answer.NextToken = strconv.Itoa(at)
			break
		}
		answer.Entries = append(answer.Entries, &csi.ListSnapshotsResponse_Entry{Snapshot: each})
	}
	return answer, nil
}
