package main

import (
	"context"
	"os"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
)

func (d *driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: d.node}, nil
}

func (d *driver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	rpc := &csi.NodeServiceCapability_RPC{Type: csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME}
	return &csi.NodeGetCapabilitiesResponse{Capabilities: []*csi.NodeServiceCapability{
		{Type: &csi.NodeServiceCapability_Rpc{Rpc: rpc}},
	}}, nil
}

func (d *driver) NodeStageVolume(_ context.Context, in *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if in.VolumeId == "" || in.StagingTargetPath == "" || in.VolumeCapability == nil {
		return nil, missing("volume_id, staging_target_path or volume_capability")
	}
	if err := d.mustExist(in.VolumeId); err != nil {
		return nil, err
	}
	if _, isStaged := d.staged[in.VolumeId]; !isStaged {
		if err := os.MkdirAll(in.StagingTargetPath, onlyOwner); err != nil {
			return nil, failed(err)
		}
		if err := run("mount", "-o", "loop", d.volume(in.VolumeId), in.StagingTargetPath); err != nil {
			return nil, failed(err)
		}
		d.staged[in.VolumeId] = in.StagingTargetPath
	}
	return &csi.NodeStageVolumeResponse{}, nil
}

func (d *driver) NodeUnstageVolume(_ context.Context, in *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if in.VolumeId == "" || in.StagingTargetPath == "" {
		return nil, missing("volume_id or staging_target_path")
	}
	if err := unmount(in.StagingTargetPath); err != nil {
		return nil, err
	}
	delete(d.staged, in.VolumeId)
	return &csi.NodeUnstageVolumeResponse{}, nil
}

// EINVAL: nothing is mounted there.
func unmount(path string) error {
	if err := unix.Unmount(path, 0); err != nil && err != unix.EINVAL && err != unix.ENOENT {
		return failed(err)
	}
	return nil
}

func (d *driver) NodePublishVolume(_ context.Context, in *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if in.VolumeId == "" || in.TargetPath == "" || in.StagingTargetPath == "" || in.VolumeCapability == nil {
		return nil, missing("volume_id, target_path, staging_target_path or volume_capability")
	}
	if err := d.mustExist(in.VolumeId); err != nil {
		return nil, err
	}
	// What an earlier attempt left.
	if err := unmount(in.TargetPath); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(in.TargetPath, onlyOwner); err != nil {
		return nil, failed(err)
	}
	if err := unix.Mount(in.StagingTargetPath, in.TargetPath, "", unix.MS_BIND, ""); err != nil {
		return nil, failed(err)
	}
	if in.Readonly {
		if err := unix.Mount("", in.TargetPath, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			return nil, failed(err)
		}
	}
	return &csi.NodePublishVolumeResponse{}, nil
}

func (d *driver) NodeUnpublishVolume(_ context.Context, in *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if in.VolumeId == "" || in.TargetPath == "" {
		return nil, missing("volume_id or target_path")
	}
	if err := unmount(in.TargetPath); err != nil {
		return nil, err
	}
	if err := os.Remove(in.TargetPath); err != nil && !os.IsNotExist(err) {
		return nil, failed(err)
	}
	return &csi.NodeUnpublishVolumeResponse{}, nil
}
