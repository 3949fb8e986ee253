import { isActivityRecorded, isRecordedWithoutContent } from '../../src/api/records/activity/subjects.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { KINDS } from '../../src/crds/index.ts'

/** Whose access tokens the API server accepts, beside client certificates and service accounts. */
export type OidcIssuer = {
  /** Exactly the `iss` of the tokens, https. The issuer need not be up when the API server starts. */
  issuerUrl: string
  /** Signs the issuer's certificate; left out: the authority of `issueServingCertificate`. */
  caPem?: string
  audience: string
}

/** A webhook that the API server asks or tells, a SubjectAccessReview before RBAC for example; `caPem` as above. */
export type Webhook = { url: string; caPem?: string }

const CONFIGURATION = 'apiserver.config.k8s.io/v1'
/** Namespaces of boundaries, of resource groups, and of the platform itself. */
const OUR_NAMESPACES = '^(freehold-system|boundary-[0-9a-f-]{36}|.+-[0-9a-f]{10})$'
const MAX_TOKEN_LIFETIME_SECONDS = 86_400
const PRINCIPALS = 'freehold:principals-'
/**
 * Each principal is in one of these groups, by the first digit of its id, so that the API server limits them separately
 * (deploy/manifests/flowcontrol.yaml).
 */
export const PRINCIPAL_GROUPS: readonly string[] = [...'0123456789abcdef'].map((digit) => PRINCIPALS + digit)

/** AuthenticationConfiguration: anonymous callers reach the health paths only. */
export function authenticationConfiguration(oidc: Required<OidcIssuer> | undefined): object {
  return {
    apiVersion: CONFIGURATION,
    kind: 'AuthenticationConfiguration',
    anonymous: { enabled: true, conditions: ['/livez', '/readyz', '/healthz'].map((path) => ({ path })) },
    jwt: oidc === undefined ? [] : [jwtAuthenticator(oidc)],
  }
}

function jwtAuthenticator({ issuerUrl, caPem, audience }: Required<OidcIssuer>): object {
  return {
    issuer: { url: issuerUrl, audiences: [audience], certificateAuthority: caPem },
    // Tokens carry no groups: memberships are objects of ours, which can be removed before a token expires.
    claimMappings: {
      username: { claim: 'sub', prefix: 'p:' },
      groups: { expression: `['${PRINCIPALS}' + claims.sub.substring(0, 1)]` },
      uid: { claim: 'sub' },
      // A token can outlive its principal. With the uid, the authorizer can refuse it to a later principal of the same
      // id.
      extra: [
        {
          key: 'freehold.dev/principal-uid',
          valueExpression: "has(claims.principal_uid) ? claims.principal_uid : ''",
        },
      ],
    },
    claimValidationRules: [
      // An ID token has the same issuer and may have the same audience; only access tokens say Bearer.
      { expression: "has(claims.typ) && claims.typ == 'Bearer'", message: 'only access tokens are accepted' },
      {
        expression: `claims.exp - claims.iat <= ${MAX_TOKEN_LIFETIME_SECONDS}`,
        message: `the token lives longer than ${MAX_TOKEN_LIFETIME_SECONDS} s`,
      },
    ],
    userValidationRules: [
      { expression: "!user.username.startsWith('system:')", message: 'names that start with system: are reserved' },
      { expression: "user.groups.all(group, !group.startsWith('system:'))", message: 'system: groups are reserved' },
    ],
  }
}

/** AuthorizationConfiguration: nodes, our webhook when there is one, RBAC. */
export function authorizationConfiguration(webhookKubeconfig: string | undefined): object {
  const webhook = webhookKubeconfig === undefined ? [] : [webhookAuthorizer(webhookKubeconfig)]
  return {
    apiVersion: CONFIGURATION,
    kind: 'AuthorizationConfiguration',
    authorizers: [{ type: 'Node', name: 'node' }, ...webhook, { type: 'RBAC', name: 'rbac' }],
  }
}

function webhookAuthorizer(kubeConfigFile: string): object {
  return {
    type: 'Webhook',
    name: 'freehold',
    webhook: {
      // After this time kubectl gets a 500. A facade that is down refuses at once; only one that hangs takes this long.
      timeout: '3s',
      subjectAccessReviewVersion: 'v1',
      matchConditionSubjectAccessReviewVersion: 'v1',
      // A TTL of 0 would mean the default of minutes, and a withdrawn right must end at once.
      cacheAuthorizedRequests: false,
      cacheUnauthorizedRequests: false,
      // If denies cannot be checked, RBAC must not allow the request.
      failurePolicy: 'Deny',
      connectionInfo: { type: 'KubeConfigFile', kubeConfigFile },
      matchConditions: [
        'has(request.resourceAttributes)',
        // All requests of our principals, so that a deleted one keeps no role of Kubernetes either.
        `request.user.startsWith('p:') || request.resourceAttributes.group.matches('(^|[.])freehold[.]dev$') || request.resourceAttributes.namespace.matches('${OUR_NAMESPACES}')`,
        // Components of Kubernetes and our own must work while the webhook is down. The only other exemption is Velero,
        // which restores the platform before it runs and waits forever if it is refused.
        // The administrators of a kubeadm cluster are not in system:masters.
        "!('system:masters' in request.groups || 'kubeadm:cluster-admins' in request.groups || 'system:nodes' in request.groups)",
        `!(${['kube-system', 'freehold-system', 'velero'].map((name) => `'system:serviceaccounts:${name}' in request.groups`).join(' || ')})`,
        "!(request.user in ['system:apiserver', 'system:kube-controller-manager', 'system:kube-scheduler', 'freehold:player'])",
      ].map((expression) => ({ expression })),
    },
  }
}

/** EncryptionConfiguration: Secrets at rest. `identity` last, so that what was stored in clear can still be read. */
export function encryptionConfiguration(keyBase64: string): object {
  return {
    apiVersion: CONFIGURATION,
    kind: 'EncryptionConfiguration',
    resources: [
      {
        resources: ['secrets'],
        providers: [{ secretbox: { keys: [{ name: 'key1', secret: keyBase64 }] } }, { identity: {} }],
      },
    ],
  }
}

/**
 * Pod Security for namespaces without labels: no privileged pods. Tenants' namespaces are labelled `restricted`. Also
 * the certificate by which our webhooks recognise the API server.
 */
export function admissionConfiguration(webhookKubeconfig: string): object {
  return {
    apiVersion: CONFIGURATION,
    kind: 'AdmissionConfiguration',
    plugins: [
      {
        name: 'ValidatingAdmissionWebhook',
        configuration: {
          apiVersion: CONFIGURATION,
          kind: 'WebhookAdmissionConfiguration',
          kubeConfigFile: webhookKubeconfig,
        },
      },
      {
        name: 'PodSecurity',
        configuration: {
          apiVersion: 'pod-security.admission.config.k8s.io/v1',
          kind: 'PodSecurityConfiguration',
          defaults: { enforce: 'baseline', warn: 'restricted' },
          exemptions: { namespaces: ['kube-system'] },
        },
      },
    ],
  }
}

/**
 * Who wrote a boundary, group, resource or part of one, and its new content, for activity. Status is left out, and even
 * the ciphertext of vaults.
 */
export function auditPolicy(kinds: readonly AnyKind[] = KINDS): object {
  const recordedKinds = kinds.filter(isActivityRecorded)
  const rule = (level: string, among: readonly AnyKind[]) => ({
    level,
    verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'],
    resources: among.map(({ resource: { group, plural }, scale }) => ({
      group,
      resources: scale === undefined ? [plural] : [plural, `${plural}/scale`],
    })),
  })
  return {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived', 'ResponseStarted'],
    omitManagedFields: true,
    rules: [
      rule('Metadata', recordedKinds.filter(isRecordedWithoutContent)),
      rule(
        'RequestResponse',
        recordedKinds.filter((kind) => !isRecordedWithoutContent(kind)),
      ),
      { level: 'None' },
    ],
  }
}
