"""Unpacks the layers of an image (OCI layout, or docker save) into a directory; prints its configuration: unpack.py IMAGE DIRECTORY"""
import json
import os
import sys
import tarfile

image, root = sys.argv[1:]


def blob(digest):
    return os.path.join(image, "blobs", *digest.split(":"))


if os.path.exists(os.path.join(image, "index.json")):
    manifest = json.load(open(blob(json.load(open(os.path.join(image, "index.json")))["manifests"][0]["digest"])))
    config, layers = blob(manifest["config"]["digest"]), [blob(each["digest"]) for each in manifest["layers"]]
else:
    manifest = json.load(open(os.path.join(image, "manifest.json")))[0]
    config = os.path.join(image, manifest["Config"])
    layers = [os.path.join(image, each) for each in manifest["Layers"]]
for layer in layers:
    with tarfile.open(layer) as archive:
        archive.extractall(root)
print(json.dumps(json.load(open(config))))
