// Command versitygw is the S3 gateway of that name with what the platform runs it with, and with a check before its
// files: versitygw 1.8 makes paths of upload ids, of version ids and of the keys of DeleteObjects without looking for "..".
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
	"github.com/versity/versitygw/s3api/utils"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"
)

const (
	region   = "us-east-1"
	partsMax = 10_000
)

var (
	port        = flag.String("port", "", "address to listen at")
	quiet       = flag.Bool("quiet", false, "write no line for each request")
	uncached    = flag.Bool("iam-cache-disable", false, "ask for users at each request")
	users       = flag.String("iam-standalone-endpoint", "", "socket of the process for users")
	connections = flag.Int("max-connections", 4096, "connections at once")
	requests    = flag.Int("max-requests", 4096, "requests at once")
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	flag.Parse()
	if err := run(ctx, flag.Args()); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("say iam or posix")
	}
	switch args[0] {
	case "iam":
		return runUsers(ctx, args[1:])
	case "posix":
		return runStore(ctx, args[1:])
	}
	return fmt.Errorf("%q is neither iam nor posix", args[0])
}

func runUsers(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("iam", flag.ExitOnError)
	folder := flags.String("dir", "", "folder of users and keys")
	socket := flags.String("private-ports", "", "socket for the store")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return embedgw.RunIAMAPI(ctx, &embedgw.IAMConfig{
		RootUserAccess: os.Getenv("ROOT_ACCESS_KEY_ID"),
		RootUserSecret: os.Getenv("ROOT_SECRET_ACCESS_KEY"),
		Ports:          []string{*port},
		MaxConnections: *connections,
		MaxRequests:    *requests,
		Quiet:          *quiet,
		PrivatePorts:   []string{*socket},
		IAMDir:         *folder,
		Region:         region,
	})
}

func runStore(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("posix", flag.ExitOnError)
	versions := flags.String("versioning-dir", "", "folder of earlier versions")
	sidecar := flags.String("sidecar", "", "folder of what is known of objects; their extended attributes when absent")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("say in which folder the buckets are")
	}
	files, err := openFiles(flags.Arg(0), *versions, *sidecar)
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(ctx, guarded{files}, &embedgw.Config{
		RootUserAccess:        os.Getenv("ROOT_ACCESS_KEY_ID"),
		RootUserSecret:        os.Getenv("ROOT_SECRET_ACCESS_KEY"),
		Region:                region,
		Ports:                 []string{*port},
		MaxConnections:        *connections,
		MaxRequests:           *requests,
		MultipartMaxParts:     partsMax,
		Quiet:                 *quiet,
		StandaloneIAMEndpoint: *users,
		IAMCacheDisable:       *uncached,
		LogWebhookURL:         os.Getenv("VGW_LOG_WEBHOOK_URL"),
	})
}

func openFiles(root, versions, sidecar string) (backend.Backend, error) {
	options := posix.PosixOpts{VersioningDir: versions, SideCarDir: sidecar, Concurrency: 5000}
	if sidecar == "" {
		if err := (meta.XattrMeta{}).Test(root); err != nil {
			return nil, fmt.Errorf("the file system keeps no attributes: %w", err)
		}
		return posix.New(root, meta.XattrMeta{}, options)
	}
	store, err := meta.NewSideCar(sidecar)
	if err != nil {
		return nil, err
	}
	return posix.New(filepath.Clean(root), store, options)
}

// guarded hands on what names something of its bucket only.
type guarded struct{ backend.Backend }

var (
	uploadID  = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	versionID = regexp.MustCompile(`^(null|[0-9A-HJKMNP-TV-Z]{26})?$`)
)

func checkUpload(id *string) error {
	if id == nil || uploadID.MatchString(*id) {
		return nil
	}
	return s3err.GetNoSuchUploadErr(*id)
}

func checkVersion(id *string) error {
	if id == nil || versionID.MatchString(*id) {
		return nil
	}
	return s3err.GetInvalidArgumentErr(s3err.InvalidArgVersionId, *id)
}

// checkSource is about the version alone: versitygw looks at bucket and key itself.
func checkSource(source *string) error {
	_, _, version, err := backend.ParseCopySource(backend.GetStringFromPtr(source))
	if err != nil {
		return err
	}
	return checkVersion(&version)
}

func (g guarded) UploadPart(ctx context.Context, in *s3.UploadPartInput) (*s3.UploadPartOutput, error) {
	if err := checkUpload(in.UploadId); err != nil {
		return nil, err
	}
	return g.Backend.UploadPart(ctx, in)
}

func (g guarded) UploadPartCopy(ctx context.Context, in *s3.UploadPartCopyInput) (none s3response.CopyPartResult, _ error) {
	if err := cmp.Or(checkUpload(in.UploadId), checkSource(in.CopySource)); err != nil {
		return none, err
	}
	return g.Backend.UploadPartCopy(ctx, in)
}

func (g guarded) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput) (none s3response.CompleteMultipartUploadResult, _ string, _ error) {
	if err := checkUpload(in.UploadId); err != nil {
		return none, "", err
	}
	return g.Backend.CompleteMultipartUpload(ctx, in)
}

func (g guarded) AbortMultipartUpload(ctx context.Context, in *s3.AbortMultipartUploadInput) error {
	if err := checkUpload(in.UploadId); err != nil {
		return err
	}
	return g.Backend.AbortMultipartUpload(ctx, in)
}

func (g guarded) ListParts(ctx context.Context, in *s3.ListPartsInput) (none s3response.ListPartsResult, _ error) {
	if err := checkUpload(in.UploadId); err != nil {
		return none, err
	}
	return g.Backend.ListParts(ctx, in)
}

func (g guarded) HeadObject(ctx context.Context, in *s3.HeadObjectInput) (*s3.HeadObjectOutput, error) {
	if err := checkVersion(in.VersionId); err != nil {
		return nil, err
	}
	return g.Backend.HeadObject(ctx, in)
}

func (g guarded) GetObject(ctx context.Context, in *s3.GetObjectInput) (*s3.GetObjectOutput, error) {
	if err := checkVersion(in.VersionId); err != nil {
		return nil, err
	}
	return g.Backend.GetObject(ctx, in)
}

func (g guarded) GetObjectAttributes(ctx context.Context, in *s3.GetObjectAttributesInput) (none s3response.GetObjectAttributesResponse, _ error) {
	if err := checkVersion(in.VersionId); err != nil {
		return none, err
	}
	return g.Backend.GetObjectAttributes(ctx, in)
}

func (g guarded) CopyObject(ctx context.Context, in s3response.CopyObjectInput) (none s3response.CopyObjectOutput, _ error) {
	if err := checkSource(in.CopySource); err != nil {
		return none, err
	}
	return g.Backend.CopyObject(ctx, in)
}

func (g guarded) DeleteObject(ctx context.Context, in *s3.DeleteObjectInput) (*s3.DeleteObjectOutput, error) {
	if err := checkVersion(in.VersionId); err != nil {
		return nil, err
	}
	return g.Backend.DeleteObject(ctx, in)
}

// DeleteObjects tells of what it does not hand on as of what could not be deleted.
func (g guarded) DeleteObjects(ctx context.Context, in *s3.DeleteObjectsInput) (s3response.DeleteResult, error) {
	var kept []types.ObjectIdentifier
	var refused []types.Error
	for _, one := range in.Delete.Objects {
		err := checkVersion(one.VersionId)
		if key := backend.GetStringFromPtr(one.Key); err == nil && !utils.IsObjectNameValid(key) {
			err = s3err.GetAPIError(s3err.ErrBadRequest)
		}
		if err == nil {
			kept = append(kept, one)
		} else {
			refused = append(refused, s3err.ObjectDeleteError(one.Key, one.VersionId, err))
		}
	}
	in.Delete.Objects = kept
	result, err := g.Backend.DeleteObjects(ctx, in)
	result.Error = append(result.Error, refused...)
	return result, err
}

func (g guarded) GetObjectTagging(ctx context.Context, bucket, object, version string) (map[string]string, error) {
	if err := checkVersion(&version); err != nil {
		return nil, err
	}
	return g.Backend.GetObjectTagging(ctx, bucket, object, version)
}

func (g guarded) PutObjectTagging(ctx context.Context, bucket, object, version string, tags map[string]string) error {
	if err := checkVersion(&version); err != nil {
		return err
	}
	return g.Backend.PutObjectTagging(ctx, bucket, object, version, tags)
}

func (g guarded) DeleteObjectTagging(ctx context.Context, bucket, object, version string) error {
	if err := checkVersion(&version); err != nil {
		return err
	}
	return g.Backend.DeleteObjectTagging(ctx, bucket, object, version)
}

func (g guarded) GetObjectRetention(ctx context.Context, bucket, object, version string) ([]byte, error) {
	if err := checkVersion(&version); err != nil {
		return nil, err
	}
	return g.Backend.GetObjectRetention(ctx, bucket, object, version)
}

func (g guarded) PutObjectRetention(ctx context.Context, bucket, object, version string, retention []byte) error {
	if err := checkVersion(&version); err != nil {
		return err
	}
	return g.Backend.PutObjectRetention(ctx, bucket, object, version, retention)
}

func (g guarded) GetObjectLegalHold(ctx context.Context, bucket, object, version string) (*bool, error) {
	if err := checkVersion(&version); err != nil {
		return nil, err
	}
	return g.Backend.GetObjectLegalHold(ctx, bucket, object, version)
}

func (g guarded) PutObjectLegalHold(ctx context.Context, bucket, object, version string, status bool) error {
	if err := checkVersion(&version); err != nil {
		return err
	}
	return g.Backend.PutObjectLegalHold(ctx, bucket, object, version, status)
}
