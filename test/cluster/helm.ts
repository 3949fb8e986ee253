import { findTool, isToolBuilt, type Tool } from '../../scripts/controlplane/tool.ts'

const TOOL = { folder: 'helm', package: 'helm.sh/helm/v3/cmd/helm', name: 'helm' } as const satisfies Tool

export const isHelmBuilt = () => isToolBuilt(TOOL)

/** @throws Error if it cannot be built */
export async function findHelm(): Promise<string> {
  const progress = { step: <T>(_what: string, work: () => Promise<T>) => work(), note: () => undefined }
  const found = await findTool(TOOL, { progress, signal: undefined })
  if ('program' in found) return found.program
  throw new Error(`Helm needs Go ${found.needsGo} to be built.`)
}
