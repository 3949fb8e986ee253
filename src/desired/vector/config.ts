import { VECTOR_PORTS } from '../../contracts/vector.ts'

/** Paths of the image; the storage directory is the volume. */
export const STORAGE_PATH = '/qdrant/storage'

/**
 * The engine's `production.yaml`. Cluster mode is on even for one peer, because a peer started without it can never be
 * joined by another. Snapshots are stored on the volume: the root filesystem is read-only, and a node's own disk is too
 * small. Keys come as environment variables from the Secret.
 */
export const PRODUCTION_YAML = `log_level: INFO
logger:
  format: json
storage:
  storage_path: ${STORAGE_PATH}
  snapshots_path: ${STORAGE_PATH}/snapshots
service:
  host: 0.0.0.0
  http_port: ${VECTOR_PORTS.rest}
  grpc_port: ${VECTOR_PORTS.grpc}
  enable_cors: false
cluster:
  enabled: true
  p2p:
    port: ${VECTOR_PORTS.peer}
telemetry_disabled: true
`
