"""Draws the von Mises stress in a frame of --format pvd: pvbatch paraview.py FOLDER FRAME PICTURE.png"""
import sys

sys.path.pop(0)  # the folder of this file, which has the name of the module
from paraview.simple import *

folder, frame, picture = sys.argv[1:]
LoadPalette("WhiteBackground")
bodies = PVDReader(FileName=f"{folder}/frames.pvd")
view = GetActiveViewOrCreate("RenderView")
view.ViewSize, view.ViewTime = [800, 500], bodies.TimestepValues[int(frame)]
view.OrientationAxesVisibility = 0
shown = Show(bodies, view)
shown.Representation = "Surface With Edges"
ColorBy(shown, ("CELLS", "von_mises"))
shown.RescaleTransferFunctionToDataRange()
bar = GetScalarBar(GetColorTransferFunction("von_mises"), view)
bar.Title, bar.ComponentTitle, bar.WindowLocation = "von Mises, Pa", "", "Upper Right Corner"
view.CameraPosition, view.CameraFocalPoint, view.CameraViewUp = [1, 0.8, 2], [0, 0, 0], [0, 1, 0]
ResetCamera(view)
SaveScreenshot(picture, view)
