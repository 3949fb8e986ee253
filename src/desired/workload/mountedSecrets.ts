import { IDENTITY_PATH, IDENTITY_VOLUME } from '../../contracts/managedIdentities.ts'

/** Files that a pod is given of a Secret, by the path that they are mounted under. A change of it changes the files. */
export type MountedSecret = { name: string; secretName: string; path: string }

/** @param secretName the Secret with the credentials of its identity; undefined without one */
export function identityFiles(secretName: string | undefined): MountedSecret[] {
  return secretName === undefined ? [] : [{ name: IDENTITY_VOLUME, secretName, path: IDENTITY_PATH }]
}

/** For its group only, which owns the volumes of a pod. */
export function secretVolume({ name, secretName }: MountedSecret): object {
  return { name, secret: { secretName, defaultMode: 0o440 } }
}

export function secretMount({ name, path }: MountedSecret): object {
  return { name, mountPath: path, readOnly: true }
}
